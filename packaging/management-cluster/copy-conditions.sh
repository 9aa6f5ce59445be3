#!/bin/sh
# Copies the conditions that machines report from their ConfigMaps to the status of their Machines, once. It is this, with
# rights of its own, that writes to a Machine, and never the machine: what a ConfigMap holds is judged, and is never used
# as a patch. copy-conditions.yaml runs it every ten seconds.
#
# Needs curl 7.76 and jq 1.6. For a look from outside the cluster: API_SERVER, and a SERVICE_ACCOUNT directory with ca.crt, token
# and namespace.
set -eu
umask 077
account=${SERVICE_ACCOUNT:-/var/run/secrets/kubernetes.io/serviceaccount}
api=${API_SERVER:-https://kubernetes.default.svc}
namespace=$(cat "$account/namespace")
machines=/apis/cluster.x-k8s.io/v1beta2/namespaces/$namespace/machines
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# ask PATH [curl options]: the token goes over standard input, as arguments can be seen by every process.
ask() {
	path=$1
	shift
	printf 'header = "Authorization: Bearer %s"\n' "$(cat "$account/token")" |
		curl --config - --silent --show-error --fail-with-body --max-time 30 --cacert "$account/ca.crt" "$@" "$api$path"
}

ask "/api/v1/namespaces/$namespace/configmaps?labelSelector=machineadm.dev/report%3Dtrue" >"$work/reports"
ask "$machines" >"$work/machines"

# Whose report it is the name of the ConfigMap says: it is the one thing in it that a machine cannot change. The time of a
# change is taken from the clock here: MachineHealthChecks count from it, and a machine may boot with a clock of 1970.
jq --compact-output --null-input --slurpfile reports "$work/reports" --slurpfile machines "$work/machines" '
	def judged:
		select(type == "object")
		| select(.type == ("machineadm.dev/BootstrapSucceeded", "machineadm.dev/AfterBootstrapHooksSucceeded", "machineadm.dev/NodeHealthy"))
		| select(.status == ("True", "False", "Unknown"))
		| select((.reason | type) == "string" and (.reason | length) <= 256)
		| select(.reason | test("^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"))
		# Never empty: Kubernetes 1.20 takes an empty string of a custom resource for none at all, and refuses it.
		| {type, status, reason, message: ((.message | strings | select(. != "") | .[0:1024]) // .reason)};
	(now | floor | todate) as $now
	| ($machines[0].items | map({key: .metadata.name, value: .}) | from_entries) as $known
	| $reports[0].items[]
	| $known[.metadata.name | ltrimstr("machineadm-report-")] as $machine
	| select($machine != null)
	| [(.data // {})["conditions.json", "watch-conditions.json"] | strings | fromjson? | arrays | .[] | judged]
	| unique_by(.type)
	| [.[] | . as $told | first($machine.status.conditions // [] | .[] | select(.type == $told.type)) // null
		| {$told, had: .}]
	| select(any(.[]; .told != (.had // {} | {type, status, reason, message: (.message // "")})))
	| {apiVersion: "cluster.x-k8s.io/v1beta2", kind: "Machine", metadata: ($machine.metadata | {name, namespace, uid}),
		status: {conditions: [.[] | .told + {lastTransitionTime:
			(if .had.status == .told.status then .had.lastTransitionTime else $now end)}]}}
' >"$work/patches"

# A Machine that cannot be written now is written the next time; the others do not wait for it.
failed=0
while IFS= read -r patch; do
	name=$(printf '%s' "$patch" | jq --raw-output .metadata.name)
	printf '%s' "$patch" >"$work/patch"
	if ask "$machines/$name/status?fieldManager=machineadm-conditions&force=true" --request PATCH \
		--header 'Content-Type: application/apply-patch+yaml' --data-binary "@$work/patch" >"$work/answer"; then
		jq --raw-output '.status.conditions[] | "\(.type)=\(.status) (\(.reason))"' "$work/patch" | sed "s|^|$name: |"
	else
		echo "$name: $(jq --raw-output .message "$work/answer" || :)" >&2
		failed=1
	fi
done <"$work/patches"
exit $failed
