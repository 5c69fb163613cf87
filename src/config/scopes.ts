/** What a credential can allow. Tokens may carry other names for them: the setting `scopeNames` maps those. */
export const SCOPES = [
  'a2a.send',
  'a2a.read',
  'a2a.cancel',
  'a2a.push',
  'a2a.card',
  'parley.operate',
] as const;

export type Scope = (typeof SCOPES)[number];
