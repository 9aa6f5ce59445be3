/**
 * Names of descriptors that the caller has opened: `/dev/stdin`, `<(command)` of a shell. They are links without a target
 * that could be followed (proc_pid_fd(5)), and lead nowhere but to what this process has open already.
 */
export function isOwnDescriptor(path: string): boolean {
  return /^(?:\/dev\/(?:stdin|stdout|stderr|fd\/\d+)|\/proc\/self\/fd\/\d+)$/.test(path);
}
