import { readFileSync, writeFileSync } from 'node:fs';
import { withSettingsTable } from './settings.table.js';

/** `npm run generate:readme`: writes the table of settings into the README. */
const README = new URL('../../README.md', import.meta.url);
writeFileSync(README, withSettingsTable(readFileSync(README, 'utf8')));
