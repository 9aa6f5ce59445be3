#!/usr/bin/env bash
# samba-controller.sh ADDRESS: provisions and runs the controller dc1 of the domain corp.example.test, as process 1 of
# namespaces of its own and in a throw-away root. Expects eth0 to appear, and one file a password in /passwords.
#
# "joiner" is a join account of least privilege: on OU=Nodes only. "plain" has no rights, "disabled" and "expired" are.
set -euo pipefail
address=$1 domain=corp.example.test base=DC=corp,DC=example,DC=test
hostname dc1
until ip link show eth0 >/dev/null 2>&1; do sleep 0.1; done
ip link set lo up; ip addr add "$address/24" dev eth0; ip link set eth0 up
printf 'nameserver %s\n' "$address" > /etc/resolv.conf
printf '127.0.0.1 localhost\n%s dc1.%s dc1\n' "$address" "$domain" > /etc/hosts
mkdir -p /run/samba; chmod 1777 /tmp; rm -f /etc/samba/smb.conf /etc/krb5.conf

samba-tool domain provision --realm=CORP.EXAMPLE.TEST --domain=CORP --server-role=dc --dns-backend=SAMBA_INTERNAL \
  --adminpass="$(cat /passwords/administrator)" --host-name=dc1 --host-ip="$address" \
  --option='interfaces=lo eth0' --option='bind interfaces only=yes'
# Without one, every other name is refused at once; the one provision writes is this server itself.
sed -i '/dns forwarder/d' /etc/samba/smb.conf
cp /var/lib/samba/private/krb5.conf /etc/krb5.conf

samba-tool ou create "OU=Nodes,$base"
samba-tool ou create "OU=Locked,$base"
samba-tool ou create "OU=Leaving,$base"
for account in joiner plain disabled expired; do samba-tool user create "$account" "$(cat /passwords/$account)"; done
samba-tool user disable disabled
samba-tool user setpassword expired --newpassword="$(cat /passwords/expired)" --must-change-at-next-login
# Anyone may add ten computers by default ([MS-ADTS] ms-DS-MachineAccountQuota); a hardened domain says none.
printf 'dn: %s\nchangetype: modify\nreplace: ms-DS-MachineAccountQuota\nms-DS-MachineAccountQuota: 0\n' "$base" |
  ldbmodify -H /var/lib/samba/private/sam.ldb
sid=$(samba-tool user show joiner --attributes=objectSid | sed -n 's/^objectSid: //p')
computer=bf967a86-0de6-11d0-a285-00aa003049e2
# Create and delete computers; on them reset password, account restrictions, validated writes of DNS name and SPN.
rights="(OA;CI;CCDC;$computer;;$sid)(OA;CIIO;CR;00299570-246d-11d0-a768-00aa006e0529;$computer;$sid)"
rights+="(OA;CIIO;RPWP;4c164200-20c0-11d0-a768-00aa006e0529;$computer;$sid)"
rights+="(OA;CIIO;SW;72e39547-7b18-11d1-adef-00c04fd8d5cd;$computer;$sid)"
rights+="(OA;CIIO;SW;f3a64788-5306-11d1-a9c5-0000f80367c1;$computer;$sid)"
samba-tool dsacl set --objectdn="OU=Nodes,$base" --sddl="$rights"
# There, a computer may delete itself, too.
samba-tool dsacl set --objectdn="OU=Leaving,$base" --sddl="$rights(OA;CIIO;SD;;$computer;PS)"
exec samba --foreground --no-process-group
