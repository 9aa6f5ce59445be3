import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkAuthentication, toAuthentication } from '@machineadm/document/sections/api-server/authentication.ts';
import { checkJwt } from '@machineadm/document/sections/api-server/token-issuers.ts';
import { placed, type Told, told } from './api-server-findings.ts';

const RAISE = 'remove it, or raise kubernetes.version';
const SERVER = { server: 'https://10.0.0.9:8443/x' };
const BOTH = { ...SERVER, token: 'abcdef', clientCertificate: { certificate: 'PEM', key: 'abcdef' } };
const KEEP_ONE = 'keep one of them';
const EXCLUDE = 'token and clientCertificate exclude each other';

describe('the authentication of an API server', () => {
  type Section = Parameters<typeof checkAuthentication>[0];
  const of = (section: Section, minor = 35, gates?: string) =>
    told(
      checkAuthentication(
        section,
        minor,
        gates === undefined
          ? []
          : [
              { name: 'a', value: '' },
              { name: 'feature-gates', value: gates },
            ],
      ),
    );
  const issuer = (url: string) => ({
    issuer: { url, audiences: ['a'] },
    claimMappings: { username: { claim: 'sub', prefix: '' } },
  });

  test('is a webhook, structured, or both', () => {
    assert.deepEqual(of({}), [['authentication', 'neither webhook nor structured is given']]);
    assert.deepEqual(of({ webhook: SERVER }), []);
    assert.deepEqual(of({ structured: {} }), []);
    assert.deepEqual(of({ webhook: BOTH, structured: {} }, 28), [
      ['authentication.webhook', EXCLUDE, KEEP_ONE],
      ['authentication.structured', 'needs Kubernetes 1.29', RAISE, 'UnsupportedVersion'],
    ]);
  });

  const GATE = 'StructuredAuthenticationConfiguration';
  const WITHOUT: Told = [
    [
      'authentication.structured',
      `needs the feature gate ${GATE} in Kubernetes 1.29`,
      `add the argument feature-gates ${GATE}=true, or use Kubernetes 1.30`,
    ],
  ];
  for (const [minor, gates, found] of [
    [29, undefined, WITHOUT],
    [29, `${GATE}=false`, WITHOUT],
    [29, `A=true,${GATE}=true`, []],
    [30, undefined, []],
  ] as const)
    test(`that is structured in 1.${minor} with the gates ${gates ?? 'of the default'} ${found.length === 0 ? 'fits' : 'does not'}`, () => {
      assert.deepEqual(of({ structured: {} }, minor, gates), found);
    });

  const ANONYMOUS = 'AnonymousAuthConfigurableEndpoints';
  test('has conditions of anonymous requests from 1.31 with their gate, and from 1.32 without', () => {
    const section = { structured: { anonymous: { enabled: true, paths: ['/livez'] } } };
    const at = 'authentication.structured.anonymous';
    assert.deepEqual(of(section, 32), []);
    assert.deepEqual(of(section, 31, `${ANONYMOUS}=true`), []);
    assert.deepEqual(of(section, 31), [
      [
        at,
        `needs the feature gate ${ANONYMOUS} in Kubernetes 1.31`,
        `add the argument feature-gates ${ANONYMOUS}=true, or use Kubernetes 1.32`,
      ],
    ]);
    assert.deepEqual(of(section, 30), [[at, 'needs Kubernetes 1.31', RAISE, 'UnsupportedVersion']]);
  });

  test('has paths of anonymous requests only where these are enabled', () => {
    assert.deepEqual(of({ structured: { anonymous: { enabled: false } } }), []);
    assert.deepEqual(of({ structured: { anonymous: { enabled: false, paths: ['/livez'] } } }), [
      ['authentication.structured.anonymous.paths', 'has no effect: anonymous requests are not enabled'],
    ]);
  });

  test('names the issuer in which something is wrong', () => {
    const jwt = [issuer('https://a.example'), issuer('https://b.example/?x')];
    assert.deepEqual(of({ structured: { jwt } }), [
      ['authentication.structured.jwt.1.issuer.url', 'must contain neither user, query nor fragment'],
    ]);
  });

  test('has each issuer once', () => {
    const jwt = ['https://a.example', 'https://b.example', 'https://a.example'].map(issuer);
    assert.deepEqual(of({ structured: { jwt } }), [
      ['authentication.structured.jwt.2.issuer.url', 'this issuer is given twice', undefined, 'Duplicate'],
    ]);
  });

  test('in the model has its defaults, and what the document says', () => {
    assert.deepEqual(toAuthentication({}, placed), { webhook: undefined, structured: undefined });
    const connection = {
      ...SERVER,
      tlsServerName: undefined,
      certificateAuthority: undefined,
      clientCertificate: undefined,
    };
    assert.deepEqual(toAuthentication({ webhook: SERVER, structured: {} }, placed), {
      webhook: { ...connection, token: undefined, version: 'v1', cacheTTLMs: undefined },
      structured: { jwt: [], anonymous: undefined },
    });
    const jwt = [issuer('https://a.example')];
    assert.deepEqual(
      toAuthentication(
        {
          webhook: { ...SERVER, token: 'abcdef', version: 'v1beta1', cacheTTL: '2m' },
          structured: { jwt, anonymous: { enabled: true } },
        },
        placed,
      ),
      {
        webhook: {
          ...connection,
          token: placed(undefined, 'kubernetes.controlPlane.apiServer.authentication.webhook.token'),
          version: 'v1beta1',
          cacheTTLMs: 120_000,
        },
        structured: { jwt, anonymous: { enabled: true, paths: [] } },
      },
    );
    const paths = ['/livez'];
    assert.deepEqual(toAuthentication({ structured: { anonymous: { enabled: false, paths } } }, placed).structured, {
      jwt: [],
      anonymous: { enabled: false, paths },
    });
  });
});

describe('an issuer of tokens', () => {
  type Section = Parameters<typeof checkJwt>[0];
  const of = (over: Partial<Section>, minor = 35) =>
    told(
      checkJwt(
        {
          issuer: { url: 'https://id.example', audiences: ['a'] },
          claimMappings: { username: { claim: 'sub', prefix: '' } },
          ...over,
        },
        ['jwt', 0],
        minor,
      ),
    );
  const issuer = (over: Partial<Section['issuer']>) => ({
    issuer: { url: 'https://id.example', audiences: ['a'], ...over },
  });
  const mappings = (over: Partial<Section['claimMappings']>) => ({
    claimMappings: { username: { claim: 'sub', prefix: '' }, ...over },
  });
  const NEITHER = 'neither claim nor expression is given';
  const BOTH_OF = 'claim and expression exclude each other';
  const NO_PREFIX = ['a claim needs its prefix', 'prefix: "" for none'] as const;
  const NOT_OF_CLAIM = 'a prefix belongs to a claim, not to an expression';
  const NO_PARTS = 'must contain neither user, query nor fragment';
  const BAD_KEY = ['not a key in lower case with its domain', 'such as example.org/team'] as const;
  const RESERVED = 'the domains k8s.io and kubernetes.io are reserved';

  for (const [minor, found] of [
    [30, []],
    [
      29,
      [
        ['jwt.0.issuer.audiences', 'needs Kubernetes 1.30', RAISE, 'UnsupportedVersion'],
        ['jwt.0.issuer.discoveryURL', 'needs Kubernetes 1.30', RAISE, 'UnsupportedVersion'],
      ],
    ],
  ] as const)
    test(`may have several audiences and a discovery URL from 1.30 on (1.${minor})`, () => {
      assert.deepEqual(of(issuer({ audiences: ['a', 'b'], discoveryURL: 'https://d.example' }), minor), found);
    });

  const URLS: readonly (readonly [Partial<Section['issuer']>, Told])[] = [
    [{ discoveryURL: 'https://id.example/' }, [['jwt.0.issuer.discoveryURL', 'must differ from url', 'remove it']]],
    [
      { url: 'https://id.example//', discoveryURL: 'https://id.example' },
      [['jwt.0.issuer.discoveryURL', 'must differ from url', 'remove it']],
    ],
    [{ url: 'https://id.example/?a' }, [['jwt.0.issuer.url', NO_PARTS]]],
    [{ url: 'https://me@id.example' }, [['jwt.0.issuer.url', NO_PARTS]]],
    [{ discoveryURL: 'https://d.example/#x' }, [['jwt.0.issuer.discoveryURL', NO_PARTS]]],
  ];
  for (const [over, found] of URLS)
    test(`with ${JSON.stringify(over)}: ${found[0]?.[1]}`, () => assert.deepEqual(of(issuer(over)), found));

  const MAPPINGS: readonly (readonly [Partial<Section['claimMappings']>, Told])[] = [
    [{ username: { expression: 'claims.sub' }, groups: { claim: 'g', prefix: 'x:' }, uid: { claim: 'u' } }, []],
    [{ username: {} }, [['jwt.0.claimMappings.username', NEITHER]]],
    [{ username: { claim: 'sub' } }, [['jwt.0.claimMappings.username', ...NO_PREFIX]]],
    [{ groups: { claim: 'g' } }, [['jwt.0.claimMappings.groups', ...NO_PREFIX]]],
    [
      { groups: { claim: 'g', expression: 'x', prefix: '' } },
      [
        ['jwt.0.claimMappings.groups', BOTH_OF],
        ['jwt.0.claimMappings.groups.prefix', NOT_OF_CLAIM],
      ],
    ],
    [{ username: { expression: 'x', prefix: '' } }, [['jwt.0.claimMappings.username.prefix', NOT_OF_CLAIM]]],
    [{ uid: {} }, [['jwt.0.claimMappings.uid', NEITHER]]],
    [{ uid: { claim: 'u', expression: 'x' } }, [['jwt.0.claimMappings.uid', BOTH_OF]]],
  ];
  for (const [over, found] of MAPPINGS)
    test(`that maps ${JSON.stringify(over)}: ${found[0]?.[1] ?? 'fits'}`, () =>
      assert.deepEqual(of(mappings(over)), found));

  const KEYS: readonly (readonly [string, readonly [string, string?] | undefined])[] = [
    ['example.org/team', undefined],
    ['example.org/a/b', undefined],
    ['notkubernetes.io/a', undefined],
    ['kubernetes.io.example.org/a', undefined],
    ['team', BAD_KEY],
    ['example.org/', BAD_KEY],
    ['example.org//a', BAD_KEY],
    ['example.org/a b', BAD_KEY],
    ['Example.org/a', BAD_KEY],
    ['example.org/Team', BAD_KEY],
    ['k8s.io/a', [RESERVED]],
    ['kubernetes.io/a', [RESERVED]],
    ['x.k8s.io/a', [RESERVED]],
  ];
  for (const [key, problem] of KEYS)
    test(`with the further attribute ${key}: ${problem?.[0] ?? 'fits'}`, () => {
      const found = of(
        mappings({
          extra: [
            { key: 'a.b/c', valueExpression: 'x' },
            { key, valueExpression: 'x' },
          ],
        }),
      );
      assert.deepEqual(found, problem === undefined ? [] : [['jwt.0.claimMappings.extra.1.key', ...problem]]);
    });

  test('has each further attribute once', () => {
    const extra = { key: 'a.b/c', valueExpression: 'x' };
    assert.deepEqual(of(mappings({ extra: [extra, extra] })), [
      ['jwt.0.claimMappings.extra.1.key', 'this key is given twice', undefined, 'Duplicate'],
    ]);
  });

  test('has rules with a claim and its value, or with an expression and its message', () => {
    const rules = [
      { claim: 'hd', requiredValue: 'a' },
      { expression: 'x', message: 'm' },
      {},
      { claim: 'hd', message: 'm' },
      { expression: 'x', requiredValue: 'a' },
      { claim: 'hd', expression: 'x' },
    ];
    assert.deepEqual(of({ claimValidationRules: rules }), [
      ['jwt.0.claimValidationRules.2', NEITHER],
      ['jwt.0.claimValidationRules.3.message', 'belongs to an expression'],
      ['jwt.0.claimValidationRules.4.requiredValue', 'belongs to a claim'],
      ['jwt.0.claimValidationRules.5', BOTH_OF],
    ]);
  });
});
