/** Behind the help of the program. */
export const EXAMPLES = `
Examples:
  machineadm example --role Worker > bootstrap.yaml    a document to start from
  machineadm validate -d bootstrap.yaml                every mistake at once, with its place
  machineadm plan -d bootstrap.yaml                    what would change on this machine
  machineadm provision -d bootstrap.yaml               do it
  machineadm status                                    how it went`;
