#!/usr/bin/env bash
# build-kubernetes.sh DIR: builds the seven Kubernetes 1.20.2 programs from Debian's own source package `kubernetes`,
# and a pause program, into DIR/bin; and unpacks Debian's etcd and its C library into DIR/etcd.
# The source is unmodified except for three vendored libraries, which come from newer Debian packages because the old ones
# crash when compiled with Go >= 1.18 (modern-go/reflect2 and its users: "unsafe pointer" faults, reflect2 issue 22).
# An interrupted build continues where it stopped. Needs root for apt. Takes 5-8 minutes on 2 cores.
set -euo pipefail
dir=$(realpath -m "${1:?usage: build-kubernetes.sh DIR}")
version=1.20.5+really1.20.2
programs="kubeadm kubelet kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubectl"
phase() { echo "==> $*"; }
mkdir -p "$dir/bin" "$dir/download" "$dir/work"

phase "installing the Go compiler and the source tools"
need=()
for package in golang-1.19-go dpkg-dev ca-certificates debian-archive-keyring; do
  dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || need+=("$package")
done
apt-get -q update
[ "${#need[@]}" = 0 ] || DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "${need[@]}"

# The source index comes from the archive of this machine's apt, with separate lists: the apt configuration of the machine
# is not changed.
phase "fetching the sources"
apt=$dir/work/apt
mkdir -p "$apt/lists/partial" "$apt/sources.d"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
apt-get indextargets --format '$(ORIGIN) $(REPO_URI) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' |
  sed -n "s|^Debian |deb-src [signed-by=$keyring] |p" | sort -u > "$apt/sources.d/source.list"
[ -s "$apt/sources.d/source.list" ] || { echo "apt on this machine is not set up for a Debian archive" >&2; exit 1; }
source_options=(-o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$apt/sources.d" -o Dir::State::Lists="$apt/lists"
  -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root)
cd "$dir/download"
if ! [ -e "kubernetes_$version.orig.tar.gz" ]; then
  apt-get -q "${source_options[@]}" update
  full=$(apt-cache "${source_options[@]}" showsrc kubernetes | awk -v v="$version" '$1=="Version:" && index($2,v)==1 && !found {print $2; found=1}')
  [ -n "$full" ] || { echo "the Debian archive has no source package kubernetes $version" >&2; exit 1; }
  apt-get -q "${source_options[@]}" source --download-only "kubernetes=$full"
fi
libraries="golang-github-modern-go-reflect2-dev golang-github-json-iterator-go-dev golang-github-modern-go-concurrent-dev"
for package in $libraries etcd-server libc6; do
  ls "$package"_*.deb >/dev/null 2>&1 || apt-get -q -o APT::Sandbox::User=root download "$package"
done
for package in $libraries; do dpkg -x "$package"_*.deb "$dir/work/libraries"; done
mkdir -p "$dir/etcd"
for package in etcd-server libc6; do dpkg -x "$package"_*.deb "$dir/etcd"; done

export GOPATH=$dir/work/go GO111MODULE=off CGO_ENABLED=0 GOCACHE=$dir/work/gocache GOFLAGS=-trimpath PATH=/usr/lib/go-1.19/bin:$PATH
source=$GOPATH/src/k8s.io/kubernetes
if ! [ -e "$dir/work/unpacked" ]; then
  phase "unpacking the sources"
  rm -rf "$source"; mkdir -p "$source"
  tar xzf "kubernetes_$version.orig.tar.gz" -C "$source" --strip-components=1
  vendor=$source/vendor/github.com
  rm -rf "$vendor/modern-go/reflect2" "$vendor/modern-go/concurrent" "$vendor/json-iterator/go"
  cp -r "$dir/work/libraries"/usr/share/gocode/src/github.com/modern-go/{reflect2,concurrent} "$vendor/modern-go/"
  cp -r "$dir/work/libraries"/usr/share/gocode/src/github.com/json-iterator/go "$vendor/json-iterator/"
  touch "$dir/work/unpacked"
fi

cd "$source"
if ! [ -e "$dir/work/generated" ]; then
  phase "generating the API server's OpenAPI definitions"
  go build -o "$dir/work/openapi-gen" ./vendor/k8s.io/kube-openapi/cmd/openapi-gen
  inputs=$(grep -rl '+k8s:openapi-gen=' --include=*.go vendor/k8s.io/*/ pkg | grep -v _test | xargs -n1 dirname | sort -u |
    grep -vE 'code-generator|sample-|kube-aggregator|examples|kube-openapi|testapigroup|apis/example' |
    sed 's#^#k8s.io/kubernetes/#' | paste -sd,)
  aggregator=k8s.io/kubernetes/vendor/k8s.io/kube-aggregator/pkg/apis/apiregistration
  "$dir/work/openapi-gen" --logtostderr -i "$inputs,$aggregator/v1,$aggregator/v1beta1" \
    -p k8s.io/kubernetes/pkg/generated/openapi -O zz_generated.openapi -h hack/boilerplate/boilerplate.generatego.txt \
    -r "$dir/work/openapi-violations.txt" --output-base "$GOPATH/src"
  touch "$dir/work/generated"
fi

# The version values of the v1.20.2 release (k/k hack/lib/version.sh). The packages are linked under their vendored path.
ld="-s -w"
for package in component-base/version client-go/pkg/version; do
  for prefix in k8s.io k8s.io/kubernetes/vendor/k8s.io; do
    ld+=" -X $prefix/$package.gitVersion=v1.20.2 -X $prefix/$package.gitMajor=1 -X $prefix/$package.gitMinor=20"
    ld+=" -X $prefix/$package.gitTreeState=clean -X $prefix/$package.gitCommit=faecb196815e248d3ecfb03c680a4507229c2a56"
    ld+=" -X $prefix/$package.buildDate=2021-01-13T13:20:00Z"
  done
done
for program in $programs; do
  [ -x "$dir/bin/$program" ] && continue
  phase "compiling $program"
  # providerless: without the cloud providers, which the lab does not need (k/k build tag)
  go build -p "$(nproc)" -tags providerless -ldflags "$ld" -o "$dir/work/$program" "./cmd/$program"
  mv "$dir/work/$program" "$dir/bin/$program"
done

phase "compiling pause"
mkdir -p "$dir/work/pause"
cat > "$dir/work/pause/main.go" <<'GO'
package main

import (
	"os"
	"os/signal"
	"syscall"
)

// The process of the pod sandbox: it keeps the namespaces of the pod alive until it receives a signal.
func main() {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGINT, syscall.SIGTERM)
	<-end
}
GO
go build -ldflags "-s -w" -o "$dir/bin/pause" "$dir/work/pause/main.go"
cd "$dir"
rm -rf "$dir/work" "$dir/download"
phase "built $(ls "$dir/bin" | wc -l) programs"
