/** How long connections may take to close. */
const CLOSING_MS = 1_000;

/**
 * Ends this process soon, whatever a client of a sink has left open: nats.js keeps the socket of a connection that it gave up
 * before the server said who it is, and a flush that does not end would be the last that its timer started. What was
 * printed is read by whoever reads it first; a process that ends by itself does so at once.
 */
export function endDespiteConnections(): void {
  setTimeout(() => {
    process.stdout.write('', () => process.stderr.write('', () => process.exit()));
  }, CLOSING_MS).unref();
}
