import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { maskedToml } from '../../../../src/features/containerd/masked.ts';

const SECRET = 's3cret-value';

describe('a configuration with masked secrets', () => {
  test('headers and credentials are masked, everything else stands as it was', () => {
    const text = `server = "https://r.example" # a comment
[host."https://m.example"]
  capabilities = ["pull"]
  [host."https://m.example".header]
    Authorization = "Basic ${SECRET}"
    X-Other = ["${SECRET}", "b"]
[host."https://second.example"]
  ca = "/ca.pem"
`;
    assert.equal(
      maskedToml(text),
      text.replace(`"Basic ${SECRET}"`, '"[redacted]"').replace(`["${SECRET}", "b"]`, '"[redacted]"'),
    );
  });

  for (const text of [
    `[plugins."io.containerd.grpc.v1.cri".registry.configs."r.example".auth]\nusername = "${SECRET}"\npassword='${SECRET}'`,
    `[plugins."io.containerd.grpc.v1.cri".registry.auths."https://r"]\nidentitytoken = "${SECRET}"`,
    `[plugins."io.containerd.cri.v1.images".registry.headers]\nX-Token = [\n  "${SECRET}",\n  "b",\n]\n[grpc]`,
    `[host."https://m"]\nheader = {Authorization = "${SECRET}"}`,
    `[host."https://m"]\nheader.Authorization = "${SECRET}"`,
    `configs = {"r.example" = {auth = {password = "${SECRET}"}}}`,
    `[host."https://m".header] # theirs\nAuthorization = "${SECRET}"`,
    `[host."https://m".header] # theirs\r\nAuthorization = "${SECRET}"\r\n`,
    `[host]\r\npassword = "${SECRET}"\r\nheader = {Authorization = "${SECRET}"}\r\n`,
  ]) {
    test(`nothing of a secret is left of ${JSON.stringify(text.replaceAll(SECRET, '…'))}`, () => {
      const masked = maskedToml(text);
      assert.doesNotMatch(masked ?? '', new RegExp(SECRET));
      assert.match(masked ?? '', /redacted/);
      if (text.endsWith('[grpc]')) assert.match(masked ?? '', /\[grpc\]$/);
    });
  }

  test('what goes over lines in a way that is not followed is not shown', () => {
    assert.equal(maskedToml(`password = """\n${SECRET}"""`), undefined);
  });

  test('a configuration without secrets is shown whole', () => {
    const text = 'version = 2\n[plugins."io.containerd.grpc.v1.cri"]\nauthority = "x"\nenable_selinux = false\n';
    assert.equal(maskedToml(text), text);
  });
});
