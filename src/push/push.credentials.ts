import { A2AError, type FieldViolation, type TaskPushNotificationConfig } from '../protocol/index.js';

/** How a receiver knows that it is us. */
export interface PushCredentials {
  /** Sent as `X-A2A-Notification-Token`. */
  readonly token?: string;
  /** Sent as `Authorization: <scheme> <credentials>`. */
  readonly scheme?: string;
  readonly credentials?: string;
  /** Signs instead of the deployment's secrets, and is never sent. */
  readonly secret?: string;
}

/** The scheme of a receiver that wants pushes signed with a secret of its own (`credentials`). */
const SIGNED = 'standard-webhooks';
const SECRET = /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/;
/** RFC 9110: a token. */
const SCHEME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;
/** What a header can carry. */
const HEADER_VALUE = /^[\x20-\x7e]*$/;
const LONGEST = 8_192;

const MASK = '********';

/** @throws A2AError `invalidParams` for what a header cannot carry */
export function readCredentials(config: TaskPushNotificationConfig, at: string): PushCredentials {
  const { token, authentication } = config;
  const { scheme = '', credentials = '' } = authentication ?? {};
  const own = scheme.toLowerCase() === SIGNED;
  const violations: FieldViolation[] = [];
  const check = (field: string, valid: boolean, description: string) => {
    if (!valid) violations.push({ field: at + field, description });
  };
  const printable = 'must be printable ASCII, at most 8192 characters';
  check('token', isHeaderValue(token), printable);
  check('authentication.credentials', isHeaderValue(credentials), printable);
  check(
    'authentication.scheme',
    !authentication || SCHEME.test(scheme),
    'must be an HTTP authentication scheme',
  );
  check(
    'authentication.credentials',
    !own || SECRET.test(credentials),
    'must be a secret of whsec_ and base64',
  );
  if (violations.length > 0) {
    const [{ field, description }] = violations as [FieldViolation];
    throw new A2AError('invalidParams', { message: `${field}: ${description}`, violations });
  }
  if (own) return { token: token || undefined, secret: credentials };
  return { token: token || undefined, scheme: scheme || undefined, credentials: credentials || undefined };
}

/** Shows that something is there, and nothing of it. */
export function masked({ token, scheme, credentials, secret }: PushCredentials) {
  const shown = secret ? SIGNED : scheme;
  return {
    token: token ? MASK : '',
    authentication: shown ? { scheme: shown, credentials: credentials || secret ? MASK : '' } : undefined,
  };
}

export function credentialHeaders({ token, scheme, credentials }: PushCredentials): Record<string, string> {
  return {
    ...(token && { 'x-a2a-notification-token': token }),
    ...(scheme && { authorization: credentials ? `${scheme} ${credentials}` : scheme }),
  };
}

const isHeaderValue = (text: string) => text.length <= LONGEST && HEADER_VALUE.test(text);
