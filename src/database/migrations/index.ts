import type { Migration } from '../migration.js';
import { Tasks1764500000001 } from './0001-tasks.js';
import { ApiKeys1764500000002 } from './0002-api-keys.js';
import { Push1764500000003 } from './0003-push.js';
import { Audit1764500000004 } from './0004-audit.js';
import { Retention1764500000005 } from './0005-retention.js';
import { Callbacks1764500000006 } from './0006-callbacks.js';
import { TaskStates1764500000007 } from './0007-task-states.js';
import { AgentVersion1764500000008 } from './0008-agent-version.js';
import { Waits1764500000009 } from './0009-waits.js';
import { Handovers1764500000010 } from './0010-handovers.js';
import { PushCircuit1764500000011 } from './0011-push-circuit.js';
import { PushMoves1764500000012 } from './0012-push-moves.js';
import { PushDeliveries1764500000013 } from './0013-push-deliveries.js';
import { InboxBytes1764500000014 } from './0014-inbox-bytes.js';

/** Every migration, oldest first. A released one never changes; its class name ends in its timestamp. */
export const MIGRATIONS: readonly (new () => Migration)[] = [
  Tasks1764500000001,
  ApiKeys1764500000002,
  Push1764500000003,
  Audit1764500000004,
  Retention1764500000005,
  Callbacks1764500000006,
  TaskStates1764500000007,
  AgentVersion1764500000008,
  Waits1764500000009,
  Handovers1764500000010,
  PushCircuit1764500000011,
  PushMoves1764500000012,
  PushDeliveries1764500000013,
  InboxBytes1764500000014,
];
