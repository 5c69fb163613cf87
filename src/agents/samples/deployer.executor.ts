import { appendFile, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Role, TaskState } from '../../protocol/index.js';
import { AGENT_SETTINGS, type AgentDefinition } from '../agent.definition.js';
import {
  artifact,
  authRequired,
  dataPart,
  inputRequired,
  rejected,
  status,
  textOf,
  working,
} from '../agent.events.js';
import { type AgentEvent, AgentExecutor, type Approval, type TurnContext } from '../agent.executor.js';
import { declared, extended, type Question } from '../extensions/index.js';

interface Plan {
  readonly release: string;
  readonly environment: string;
}

/**
 * A deploy to staging waits at AUTH_REQUIRED, its turn ended, until an operator answers; production is refused.
 * The first message that names a plan fixes it: what an operator approves cannot change under their hands.
 */
export class DeployerExecutor extends AgentExecutor {
  /** Every deploy is one JSON line in that file. */
  constructor(private readonly deploymentsFile: string) {
    super();
  }

  async *execute(turn: TurnContext): AsyncIterable<AgentEvent> {
    const plan = planOf(turn);
    if (!plan) {
      const text = 'Say what goes where, for example: deploy checkout 1.4.2 to staging';
      yield inputRequired({ id: 'plan', kind: 'text', text });
    } else if (plan.environment === 'production') {
      yield rejected('Deploys to production are not made through this agent');
    } else if (plan.environment !== 'staging') {
      yield rejected(`There is no environment ${plan.environment}. There are: staging, production`);
    } else if (!turn.approval) {
      yield authRequired(approvalOf(plan));
    } else if (!turn.approval.approved) {
      yield rejected(turn.approval.reason ?? 'An operator refused the deploy');
    } else {
      yield* this.#deploy(turn, plan, turn.approval);
    }
  }

  async *#deploy(turn: TurnContext, plan: Plan, approval: Approval): AsyncIterable<AgentEvent> {
    yield working(`Approved by ${approval.by}. Deploying ${plan.release} to staging`);
    if (turn.signal.aborted) return;
    const deployment = {
      taskId: turn.task.id,
      ...plan,
      approvedBy: approval.by,
      at: new Date().toISOString(),
    };
    await mkdir(dirname(this.deploymentsFile), { recursive: true });
    await appendFile(this.deploymentsFile, `${JSON.stringify(deployment)}\n`);
    yield artifact({ artifactId: 'deployment', name: 'deployment.json', parts: [dataPart(deployment)] });
    const effect = {
      action: 'deploy',
      target: plan.environment,
      outcome: 'done',
      at: deployment.at,
    } as const;
    const told = extended({ effects: [{ ...effect, detail: { release: plan.release } }] });
    yield status(TaskState.COMPLETED, `${plan.release} runs in staging`, told);
  }
}

/** What the operator is asked, with the deploy as data: approved is this and nothing else. */
function approvalOf({ release, environment }: Plan): Question {
  return {
    id: 'deploy',
    kind: 'approval',
    text: `An operator has to approve the deploy of ${release} to ${environment}`,
    action: { name: 'deploy', arguments: { release, environment } },
  };
}

function planOf({ history }: TurnContext): Plan | undefined {
  for (const message of history.filter(({ role }) => role === Role.USER)) {
    const words = /\bdeploy\s+(.+?)\s+(?:to|on)\s+([\w-]+)/is.exec(textOf(message.parts));
    const [, release, environment] = words ?? [];
    if (release && environment) return { release, environment: environment.toLowerCase() };
  }
  return undefined;
}

export function deployer(deploymentsFile: string): AgentDefinition {
  return {
    id: 'deployer',
    name: 'Deployer',
    description: 'Deploys releases to staging once an operator has approved. Refuses production.',
    version: '1.0.0',
    skills: [
      {
        id: 'deploy',
        name: 'Deploy a release',
        description: 'Waits for an approval (AUTH_REQUIRED), then deploys and returns the record of it.',
        tags: ['deploy', 'release'],
        examples: ['deploy checkout 1.4.2 to staging'],
      },
    ],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['application/json', 'text/plain'],
    extensions: declared('approvals/v1', 'effects/v1'),
    streaming: true,
    settings: { ...AGENT_SETTINGS, v03: true },
    executor: new DeployerExecutor(deploymentsFile),
  };
}
