import type { Node } from './lab.ts';

/** What etcd holds under a key. */
export async function readEtcd(node: Node, key: string): Promise<string> {
  const pki = '/etc/kubernetes/pki/etcd';
  const credential = `--cacert ${pki}/ca.crt --cert ${pki}/healthcheck-client.crt --key ${pki}/healthcheck-client.key`;
  const question = JSON.stringify({ key: Buffer.from(key).toString('base64') });
  const answer = await node.machine.shell(
    `curl --silent --show-error --max-time 20 ${credential} --data '${question}' https://127.0.0.1:2379/v3/kv/range`,
  );
  const { kvs }: { kvs: readonly { value: string }[] } = JSON.parse(answer);
  return Buffer.from(kvs[0]?.value ?? '', 'base64').toString('latin1');
}
