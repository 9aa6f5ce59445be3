module machineadm.dev/contract/go/example

go 1.18

require (
	github.com/xeipuuv/gojsonschema v1.2.0
	machineadm.dev/contract/go v0.0.0
)

replace machineadm.dev/contract/go => ../
