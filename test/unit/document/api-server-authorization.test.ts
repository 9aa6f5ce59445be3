import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkAuthorization, toAuthorization } from '@machineadm/document/sections/api-server/authorization.ts';
import { placed, type Told, told } from './api-server-findings.ts';

const RAISE = 'remove it, or raise kubernetes.version';
const SERVER = { server: 'https://10.0.0.9:8443/x' };
const BOTH = { ...SERVER, token: 'abcdef', clientCertificate: { certificate: 'PEM', key: 'abcdef' } };
const KEEP_ONE = 'keep one of them';
const EXCLUDE = 'token and clientCertificate exclude each other';

describe('the authorizers of an API server', () => {
  type Section = Parameters<typeof checkAuthorization>[0];
  const of = (section: Section, minor = 35) => told(checkAuthorization(section, minor));
  const NODE = { type: 'Node', name: 'node' } as const;
  const RBAC = { type: 'RBAC', name: 'rbac' } as const;
  const WEBHOOK = { type: 'Webhook', name: 'web', webhook: { ...SERVER, failurePolicy: 'Deny' } } as const;

  const EXCLUDED: Told = [['authorization', 'structured excludes webhook and modes', 'write them as authorizers']];
  const FORMS: readonly (readonly [string, Section, Told])[] = [
    ['nothing', {}, [['authorization', 'neither webhook nor structured is given']]],
    ['modes alone', { modes: ['Node'] }, [['authorization', 'neither webhook nor structured is given']]],
    ['structured and a webhook', { structured: [NODE, RBAC], webhook: SERVER }, EXCLUDED],
    ['structured and modes', { structured: [NODE, RBAC], modes: ['Node', 'RBAC', 'Webhook'] }, EXCLUDED],
    ['a webhook alone', { webhook: SERVER }, []],
    ['a webhook with two proofs', { webhook: BOTH }, [['authorization.webhook', EXCLUDE, KEEP_ONE]]],
    ['a webhook with all modes', { webhook: SERVER, modes: ['Webhook', 'RBAC', 'Node'] }, []],
    [
      'a webhook with a mode twice',
      { webhook: SERVER, modes: ['Node', 'RBAC', 'Webhook', 'Node'] },
      [['authorization.modes', 'a mode is given twice', undefined, 'Duplicate']],
    ],
    [
      'a webhook without modes',
      { webhook: SERVER, modes: [] },
      [['authorization.modes', 'Node and RBAC and Webhook must be among them']],
    ],
  ];
  for (const [what, section, found] of FORMS)
    test(`as ${what}: ${found[0]?.[1] ?? 'fit'}`, () => assert.deepEqual(of(section), found));

  test('that are structured need Kubernetes 1.30, and nothing else is reported before', () => {
    assert.deepEqual(of({ structured: [NODE] }, 29), [
      ['authorization.structured', 'needs Kubernetes 1.30', RAISE, 'UnsupportedVersion'],
    ]);
    assert.deepEqual(of({ structured: [NODE, RBAC, WEBHOOK] }, 30), []);
  });

  test('that are structured have Node and RBAC once, webhooks as often as they like, and names of their own', () => {
    const missing = (what: string): Told => [
      ['authorization.structured', `${what} must be among the authorizers`, 'kubeadm and the kubelets need both'],
    ];
    assert.deepEqual(of({ structured: [WEBHOOK] }), missing('Node and RBAC'));
    assert.deepEqual(of({ structured: [NODE] }), missing('RBAC'));
    assert.deepEqual(of({ structured: [NODE, RBAC, WEBHOOK, { ...WEBHOOK, name: 'web2' }] }), []);
    assert.deepEqual(of({ structured: [NODE, RBAC, { ...RBAC, name: 'node' }] }), [
      ['authorization.structured.2.name', 'a second authorizer "node"', undefined, 'Duplicate'],
      ['authorization.structured.2.type', 'a second authorizer RBAC', undefined, 'Duplicate'],
    ]);
  });

  test('that are structured have a webhook where they are one, and only there', () => {
    const { webhook, ...none } = WEBHOOK;
    assert.deepEqual(of({ structured: [{ ...NODE, webhook }, RBAC, none] }), [
      ['authorization.structured.0', 'the type Node has no webhook'],
      ['authorization.structured.2', 'the type Webhook needs "webhook"'],
    ]);
    const proofs = { ...WEBHOOK, webhook: { ...webhook, ...BOTH } };
    assert.deepEqual(of({ structured: [NODE, RBAC, proofs] }), [
      ['authorization.structured.2.webhook', EXCLUDE, KEEP_ONE],
    ]);
  });

  for (const [timeout, fits] of [
    ['1ms', true],
    ['30s', true],
    ['0s', false],
    ['30s1ms', false],
    ['1m', false],
  ] as const)
    test(`may ${fits ? '' : 'not '}take ${timeout}`, () => {
      const slow = { ...WEBHOOK, webhook: { ...WEBHOOK.webhook, timeout } };
      const found: Told = [['authorization.structured.2.webhook.timeout', 'must be above 0s and at most 30s']];
      assert.deepEqual(of({ structured: [NODE, RBAC, slow] }), fits ? [] : found);
    });

  test('in the model have the defaults of Kubernetes', () => {
    const connection = {
      ...SERVER,
      tlsServerName: undefined,
      certificateAuthority: undefined,
      clientCertificate: undefined,
      token: undefined,
      version: 'v1',
    };
    assert.equal(toAuthorization({}, placed), undefined);
    assert.deepEqual(toAuthorization({ webhook: SERVER }, placed), {
      kind: 'webhook',
      modes: ['Node', 'RBAC', 'Webhook'],
      webhook: { ...connection, authorizedTTLMs: undefined, unauthorizedTTLMs: undefined },
    });
    assert.deepEqual(toAuthorization({ structured: [NODE, WEBHOOK] }, placed), {
      kind: 'structured',
      authorizers: [
        { ...NODE, webhook: undefined },
        {
          type: 'Webhook',
          name: 'web',
          webhook: {
            ...connection,
            authorizedTTLMs: 300_000,
            unauthorizedTTLMs: 30_000,
            timeoutMs: 3_000,
            failurePolicy: 'Deny',
            matchConditions: [],
          },
        },
      ],
    });
  });

  test('in the model have what the document says, and its secrets with their places', () => {
    const asked = {
      ...BOTH,
      tlsServerName: 'n',
      certificateAuthority: 'CA',
      version: 'v1beta1',
      authorizedTTL: '1m',
      unauthorizedTTL: '1s',
    } as const;
    const secrets = (path: string) => {
      const at = `kubernetes.controlPlane.apiServer.authorization.${path}`;
      return {
        clientCertificate: { certificate: 'PEM', key: placed(undefined, `${at}.clientCertificate.key`) },
        token: placed(undefined, `${at}.token`),
      };
    };
    const common = {
      ...SERVER,
      tlsServerName: 'n',
      certificateAuthority: 'CA',
      version: 'v1beta1',
      authorizedTTLMs: 60_000,
      unauthorizedTTLMs: 1_000,
    };
    assert.deepEqual(toAuthorization({ webhook: asked, modes: ['RBAC'] }, placed), {
      kind: 'webhook',
      modes: ['RBAC'],
      webhook: { ...common, ...secrets('webhook') },
    });
    const failurePolicy = 'NoOpinion' as const;
    const webhook = { ...asked, timeout: '9s', failurePolicy, matchConditions: ['a', 'b'] };
    assert.deepEqual(toAuthorization({ structured: [NODE, { type: 'Webhook', name: 'w', webhook }] }, placed), {
      kind: 'structured',
      authorizers: [
        { ...NODE, webhook: undefined },
        {
          type: 'Webhook',
          name: 'w',
          webhook: {
            ...common,
            ...secrets('structured[1].webhook'),
            timeoutMs: 9_000,
            failurePolicy: 'NoOpinion',
            matchConditions: ['a', 'b'],
          },
        },
      ],
    });
  });
});
