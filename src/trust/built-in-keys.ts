/**
 * Public keys (PEM) that this build trusts. None by default: a project that signs its own releases adds its keys here.
 * Everyone else configures keys in `/etc/machineadm/trust.d` or with `--key`.
 */
export const BUILT_IN_KEYS: readonly string[] = [];
