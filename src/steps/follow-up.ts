/**
 * Work owed to a change: the service manager must re-read its units, the system's store of trusted certificates must be
 * recreated, or a service must restart on new inputs, or read them again.
 */
export type FollowUp = 'daemon-reload' | 'update-ca-certificates' | `restart:${string}` | `reload:${string}`;
