/** Names of a reference to a secret: of systemd's settings, and of the values of Helm charts. */
export const REFERENCE = /(?:^|[^a-z])(?:LoadCredential(?:Encrypted)?|ImportCredential|existing_?secret)$/i;
