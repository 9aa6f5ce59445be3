/**
 * Public keys (PEM) that every machineadm of this build trusts. None: a project that signs its releases puts its own
 * here, and everybody else names them in `/etc/machineadm/trust.d` or with `--key`.
 */
export const BUILT_IN_KEYS: readonly string[] = [];
