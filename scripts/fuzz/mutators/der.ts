import type { Mutation } from '../target.ts';

/** A DER value (X.690): its identifier octet and its content. */
interface Node {
  tag: number;
  /** Length octets that do not match the content. */
  length?: string;
  content: string | Node[];
}

const LENGTHS = [
  '\x80',
  '\xff',
  '\x84\xff\xff\xff\xff',
  '\x82\x00\x01',
  '\x81\x7f',
  '\x00',
  '\x7f',
  `\x88${'\xff'.repeat(8)}`,
];
const TAGS = [0x02, 0x03, 0x04, 0x05, 0x06, 0x0c, 0x13, 0x17, 0x18, 0x30, 0x31, 0x80, 0xa0, 0xa3, 0x1f, 0x00, 0xff];

/** Changes one value in DER and corrects the lengths of the enclosing values. */
export const der: Mutation = (random, input) => {
  const nodes = decode(input);
  if (nodes === undefined || nodes.length === 0) return undefined;
  const all: [Node[], number][] = [];
  collect(nodes, all);
  const [owner, at] = random.pick(all);
  const node = owner[at];
  if (node === undefined) return undefined;
  switch (random.below(6)) {
    case 0:
      node.tag = random.pick(TAGS);
      break;
    case 1:
      node.length = random.pick(LENGTHS);
      break;
    case 2:
      owner.splice(at, 1);
      break;
    case 3:
      owner.splice(at, 0, node);
      break;
    case 4:
      node.content = random.below(2) === 0 ? '' : String.fromCharCode(random.below(256)).repeat(1 + random.below(70));
      break;
    default: {
      const bytes = typeof node.content === 'string' ? node.content : encode(node.content);
      const place = random.below(bytes.length + 1);
      node.content = bytes.slice(0, place) + String.fromCharCode(random.below(256)) + bytes.slice(place + 1);
    }
  }
  return encode(nodes);
};

const BLOCK = /(-----BEGIN [A-Z0-9 ]+-----\r?\n)([A-Za-z0-9+/=\s]*)(-----END)/g;

/** Changes one block of PEM as DER. */
export const pem: Mutation = (random, input) => {
  const blocks = [...input.matchAll(BLOCK)];
  if (blocks.length === 0) return undefined;
  const { index, 0: whole, 1: head = '', 2: body = '', 3: end = '' } = random.pick(blocks);
  const changed = der(random, Buffer.from(body, 'base64').toString('latin1'));
  if (changed === undefined) return undefined;
  const lines = (
    Buffer.from(changed, 'latin1')
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  ).join('\n');
  return `${input.slice(0, index)}${head}${lines}\n${end}${input.slice(index + whole.length)}`;
};

function collect(nodes: Node[], all: [Node[], number][]): void {
  for (const [at, node] of nodes.entries()) {
    all.push([nodes, at]);
    if (typeof node.content !== 'string') collect(node.content, all);
  }
}

function decode(bytes: string): Node[] | undefined {
  const nodes: Node[] = [];
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes.charCodeAt(at);
    let length = bytes.charCodeAt(at + 1);
    at += 2;
    if (length > 0x80) {
      const octets = length & 0x7f;
      length = 0;
      for (let octet = 0; octet < octets && octet < 5; octet++) length = length * 256 + bytes.charCodeAt(at + octet);
      at += octets;
    }
    if (!(at + length <= bytes.length)) return undefined;
    const content = bytes.slice(at, at + length);
    at += length;
    const inner = (tag & 0x20) !== 0 ? decode(content) : undefined;
    nodes.push({ tag, content: inner ?? content });
  }
  return nodes;
}

function encode(nodes: readonly Node[]): string {
  return nodes
    .map(({ tag, length, content }) => {
      const bytes = typeof content === 'string' ? content : encode(content);
      return String.fromCharCode(tag) + (length ?? lengthOf(bytes.length)) + bytes;
    })
    .join('');
}

function lengthOf(length: number): string {
  if (length < 0x80) return String.fromCharCode(length);
  if (length < 0x100) return `\x81${String.fromCharCode(length)}`;
  if (length < 0x10000) return `\x82${String.fromCharCode(length >> 8, length & 0xff)}`;
  return `\x83${String.fromCharCode((length >> 16) & 0xff, (length >> 8) & 0xff, length & 0xff)}`;
}
