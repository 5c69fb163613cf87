/**
 * The URIs of the extensions that the service itself defines. A URI is a name and the same in every deployment, so
 * that a client that knows it finds it everywhere; each deployment serves the page about it at the URI's path.
 */
const HOME = 'https://parley.dev/extensions';

/** Extensions with data of their own, which only clients that list them are sent (specification 4.6). */
export const EXTENSION_URIS = {
  approvals: `${HOME}/approvals/v1`,
  progress: `${HOME}/progress/v1`,
  usage: `${HOME}/usage/v1`,
  effects: `${HOME}/effects/v1`,
  files: `${HOME}/files/v1`,
} as const;

export type ExtensionName = keyof typeof EXTENSION_URIS;

/** Says that there is a change feed, and where. It has no data and need not be listed. */
export const CHANGE_FEED_URI = `${HOME}/change-feed/v1`;

/** Path of the page about one of the service's own extensions; undefined for any other. */
export function extensionPath(uri: string): string | undefined {
  return uri.startsWith(`${HOME}/`) ? new URL(uri).pathname : undefined;
}
