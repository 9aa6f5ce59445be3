module machineadm.dev/contract/go

go 1.18
