/**
 * Names that end as the name of a secret, and whose value is none: references of systemd's settings, of the values of Helm charts, of
 * .NET and of AWS; answers of sudoers and Kerberos; and programs whose messages follow their name.
 */
export const REFERENCE =
  /(?:^|[^a-z])(?:LoadCredential(?:Encrypted)?|ImportCredential|existing_?secret|public_?key_?token|[0-9]{12}:secret|no_?pass(?:wd|word)|(?:needed_?)?pre_?auth(?:ent)?|(?:gp|smb|ht|yp|k|un)passwd|update_password|password-secret|initial[-_]cluster[-_]token)$/i;
