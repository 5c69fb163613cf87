import { A2AError, type Principal } from '../protocol/index.js';
import type { VerifiedCredential } from './verified.credential.js';

/** Names the subject that a key with that right acts for. */
export const SUBJECT_HEADER = 'parley-subject';

const SUBJECT = /^[\x21-\x7e]([\x20-\x7e]{0,253}[\x21-\x7e])?$/;

/**
 * The caller, or the subject that it names. Whoever may act for others has to say for whom, so that a
 * forgotten header never mixes what belongs to several subjects.
 * @throws A2AError `permissionDenied`
 */
export function actingFor(subject: string | undefined, verified: VerifiedCredential): Principal {
  const { principal, actsForOthers } = verified;
  if (!actsForOthers) {
    if (subject === undefined) return principal;
    throw denied('This credential may not act for another subject');
  }
  if (subject === undefined)
    throw denied('This key acts for subjects: name one in the header Parley-Subject');
  if (!SUBJECT.test(subject)) throw denied('Parley-Subject has to be 1 to 255 visible ASCII characters');
  return { ...principal, subject, actor: principal.subject, readsOrganisation: false };
}

const denied = (message: string) => new A2AError('permissionDenied', { message });
