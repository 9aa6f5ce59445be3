#!/bin/sh
# Creates what one machine needs to report to this management cluster, and prints the sinks for its bootstrap document, with a
# token that expires after a day. Run it where the document is rendered, with a context of the management cluster:
#
#   mint-report-credential.sh --namespace clusters --machine prod-a-md-0-x7k2p > report.yaml
#   machineadm validate -f bootstrap.yaml -f report.yaml
#
# Needs kubectl (1.20 or later) and the context of the management cluster.
set -eu
umask 077

usage() {
	cat >&2 <<-END
	usage: $0 --namespace NAMESPACE --machine MACHINE [options] > report.yaml
	  --duration SECONDS          how long the token lives (default 86400; the API server may allow less)
	  --server URL                where machines reach the API server, if not where kubectl does
	  --certificate-authority FILE  PEM, if not the one of kubectl's context
	  --without-owner             the Machine does not exist (yet): clean up yourself
	END
	exit 2
}

namespace= machine= duration=86400 server= authority= owned=true
while [ $# -gt 0 ]; do
	case $1 in
	--without-owner) owned=false; shift; continue ;;
	--namespace | --machine | --duration | --server | --certificate-authority) [ $# -ge 2 ] || usage ;;
	*) usage ;;
	esac
	case $1 in
	--namespace) namespace=$2 ;;
	--machine) machine=$2 ;;
	--duration) duration=$2 ;;
	--server) server=$2 ;;
	--certificate-authority) authority=$2 ;;
	esac
	shift 2
done
# The names become a part of YAML and of a path, so nothing but RFC 1123 names is accepted.
for name in "$namespace" "$machine"; do
	case $name in '' | *[!a-z0-9.-]* | [.-]* | *[.-]) usage ;; esac
done
case $duration in '' | *[!0-9]*) usage ;; esac

owner='[]'
if $owned; then
	owner=$(kubectl get machines.cluster.x-k8s.io --namespace "$namespace" "$machine" \
		-o 'go-template=[{apiVersion: {{.apiVersion}}, kind: Machine, name: "{{.metadata.name}}", uid: {{.metadata.uid}}}]')
fi
account=machineadm-report-$machine
sed -e "s|\"@OWNER@\"|$owner|; s|@NAMESPACE@|$namespace|g; s|@MACHINE@|$machine|g" "$(dirname "$0")/machine-report.yaml" |
	kubectl apply -f - >&2

if [ -z "$server" ]; then
	server=$(kubectl config view --minify --raw -o 'jsonpath={.clusters[0].cluster.server}')
fi
if [ -n "$authority" ]; then
	pem=$(cat "$authority")
else
	pem=$(kubectl config view --minify --raw --flatten -o 'jsonpath={.clusters[0].cluster.certificate-authority-data}' | base64 -d)
fi
# TokenRequest; `kubectl create token` does the same from 1.24 on.
token=$(printf '{"spec":{"expirationSeconds":%s}}' "$duration" |
	kubectl create --raw "/api/v1/namespaces/$namespace/serviceaccounts/$account/token" -f - |
	tr -d '\n' | sed -n 's/.*"token" *: *"\([^"]*\)".*/\1/p')
[ -n "$pem" ] && [ -n "$token" ] || { echo "$0: no certificate authority or no token" >&2; exit 1; }

cat <<END
apiVersion: machineadm.dev/v1alpha1
kind: MachineBootstrap
metadata: {name: "$machine", namespace: "$namespace"}
secrets:
  reportToken: {value: "$token"}
reporting:
  sinks:
    - type: Journal
    - type: Kubernetes
      server: "$server"
      certificateAuthority: |
$(printf '%s\n' "$pem" | sed 's/^/        /')
      token: {secret: reportToken}
      configMap: {namespace: "$namespace", name: "$account"}
END
