import { expect } from 'vitest';
import { type Codes, type ErrorDetail, type Refusal, reasonOf, refusalOf } from '../clients/index.js';

/** Where 0.3 answers with another code than the table of 1.0 has. */
const OWN: Readonly<Record<string, Partial<Codes>>> = {
  TASK_NOT_CANCELABLE: { http: 409 },
  UNSUPPORTED_OPERATION: { grpc: 12 },
  PUSH_NOTIFICATION_NOT_SUPPORTED: { grpc: 12 },
};

/** As `refusalOf`, with the codes of 0.3. */
export function oldRefusal(message: string, details: readonly ErrorDetail[], seen: Partial<Codes>): Refusal {
  const own = Object.entries(OWN[reasonOf(details)] ?? {}).filter(([name]) => name in seen);
  expect(seen).toMatchObject(Object.fromEntries(own));
  const alike = Object.entries(seen).filter(([name]) => !own.some(([other]) => other === name));
  return refusalOf(message, details, Object.fromEntries(alike));
}
