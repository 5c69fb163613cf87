/** A credential that is not accepted. Its message is for the caller: why, without anything of the credential. */
export class RefusedCredential extends Error {
  override name = 'RefusedCredential';
}
