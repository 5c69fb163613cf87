// @ts-check
import { SendMessageRequest, StreamResponse, Task } from '@a2a-js/sdk';
import { ClientFactory, ClientFactoryOptions } from '@a2a-js/sdk/client';

/**
 * One way to talk to the agents. What is said and what comes back are in ProtoJSON form.
 *
 * @typedef {object} DemoClient
 * @property {(agent: string, message: object) => Promise<any>} send `{task}` or `{message}`
 * @property {(agent: string, message: object) => AsyncIterable<any>} stream one StreamResponse at a time
 */

/**
 * The public client of the A2A project, which knows no more than the agent's card.
 *
 * @param {string} url base URL of the service
 * @param {'JSONRPC' | 'HTTP+JSON'} binding
 * @returns {DemoClient}
 */
export function sdkClient(url, binding) {
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    preferredTransports: [binding],
  });
  const factory = new ClientFactory(options);
  /** @param {string} agent */
  const clientOf = (agent) => factory.createFromUrl(`${url}/agents/${agent}/`);
  return {
    async send(agent, message) {
      const client = await clientOf(agent);
      const reply = await client.sendMessage(SendMessageRequest.fromJSON({ message }));
      return 'messageId' in reply ? { message: reply } : { task: Task.toJSON(reply) };
    },
    async *stream(agent, message) {
      const client = await clientOf(agent);
      for await (const event of client.sendMessageStream(SendMessageRequest.fromJSON({ message })))
        yield StreamResponse.toJSON(event);
    },
  };
}
