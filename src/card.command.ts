import { Command } from 'commander';
import { verifyCard } from './cards/index.js';

/** `parley card verify URL`: whether any server's card is signed as it says. */
export function cardCommand(): Command {
  const card = new Command('card').description('Look at cards');
  card
    .command('verify <url>')
    .description("Verify the signatures of a card, given its address or its server's")
    .action(async (url: string) => {
      const { name, results } = await verifyCard(url);
      const lines = results.map(({ kid, jku, problem }) => `${problem ?? 'valid'}  ${kid} of ${jku}`);
      process.stdout.write(`${[`The card of ${name}`, ...lines].join('\n')}\n`);
      if (results.length === 0) card.error('The card is not signed');
      if (results.some(({ problem }) => problem)) card.error('Not every signature holds');
    });
  return card;
}
