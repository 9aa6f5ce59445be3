/** Names of a reference to a secret: of systemd's settings, and of the values of Helm charts; the name of a key of .NET, and of a secret of AWS. */
export const REFERENCE =
  /(?:^|[^a-z])(?:LoadCredential(?:Encrypted)?|ImportCredential|existing_?secret|public_?key_?token|[0-9]{12}:secret)$/i;
