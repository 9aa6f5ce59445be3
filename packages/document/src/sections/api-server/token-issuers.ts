import type { Finding, PathSegment } from '../../diagnostics/index.ts';
import { certificatePem, EXAMPLE_CERTIFICATE } from '../../fields/certificates.ts';
import {
  all,
  exactlyOne,
  exclusive,
  has,
  type JsonSchema,
  must,
  text,
  textWithout,
  when,
  without,
} from '../../fields/conditions.ts';
import { field, object } from '../../fields/field.ts';
import { httpsUrl } from '../../fields/types.ts';
import * as z from '../../schema/zod.ts';
import { trimmedEnd } from '../../text/trim.ts';
import { needs } from './connection.ts';

/** Issuers of JSON Web Tokens, in the words of AuthenticationConfiguration. */

const claim = field(z.string().min(1), 'The claim that holds the value. Excludes expression.', {
  absent: 'expression gives the value',
  example: 'sub',
});
const expression = field(z.string().min(1), 'A CEL expression that gives the value. Excludes claim.', {
  absent: 'claim gives the value',
  example: 'claims.sub',
});
const prefix = field(z.string(), 'A prefix for the value of the claim, "" for none. Required with claim.', {
  absent: 'an expression has no prefix',
  example: '',
});
const claimOrExpression = object({ claim, prefix, expression });
const rulesOfUser = z.array(
  object({
    expression: field(z.string().min(1), 'A CEL expression over the user that must be true.', {
      example: '!user.username.startsWith("system:")',
    }),
    message: field(z.string(), 'The message when the expression is false.', {
      absent: 'a message of the API server',
      example: 'reserved name',
    }),
  }),
);

export const jwt = object(
  {
    issuer: field(
      object({
        url: field(httpsUrl, 'The URL of the issuer, as the tokens name it.', { example: 'https://issuer.example' }),
        discoveryURL: field(
          httpsUrl,
          'The URL of the discovery document, if it is not the default URL of the issuer. Needs Kubernetes 1.30.',
          {
            absent: 'url and /.well-known/openid-configuration',
            example: 'https://issuer.internal/.well-known/openid-configuration',
          },
        ),
        certificateAuthority: field(certificatePem, 'The authority that signs for the issuer, in PEM form.', {
          absent: 'those that the image of the API server trusts',
          example: EXAMPLE_CERTIFICATE,
        }),
        audiences: field(
          z.array(z.string().min(1)).min(1),
          'Audiences of tokens that are accepted. More than one needs Kubernetes 1.30.',
          { example: ['kubernetes'] },
        ),
      }),
      'The issuer of the tokens.',
      { example: { url: 'https://issuer.example', audiences: ['kubernetes'] } },
    ),
    claimValidationRules: field(
      z.array(
        object(
          {
            claim: field(z.string().min(1), 'The claim that must have requiredValue. Excludes expression.', {
              absent: 'expression is the rule',
              example: 'hd',
            }),
            requiredValue: field(z.string(), 'The value that the claim must have. Belongs to claim.', {
              absent: 'the empty text',
              example: 'example.com',
            }),
            expression: field(z.string().min(1), 'A CEL expression over claims that must be true. Excludes claim.', {
              absent: 'claim is the rule',
              example: 'claims.hd == "example.com"',
            }),
            message: field(z.string(), 'The message when the expression is false. Belongs to expression.', {
              absent: 'a message of the API server',
              example: 'the domain must be example.com',
            }),
          },
          () => [
            exactlyOne('claim', 'expression'),
            exclusive('claim', 'message'),
            exclusive('expression', 'requiredValue'),
          ],
        ),
      ),
      'What must be true of the claims of a token.',
      { default: [], example: [{ claim: 'hd', requiredValue: 'example.com' }] },
    ),
    claimMappings: field(
      object({
        username: field(claimOrExpression, 'The name of the user.', { example: { claim: 'sub', prefix: '' } }),
        groups: field(claimOrExpression, 'The groups of the user.', {
          absent: 'no groups',
          example: { claim: 'groups', prefix: '' },
        }),
        uid: field(object({ claim, expression }), 'The UID of the user.', {
          absent: 'no UID',
          example: { claim: 'sub' },
        }),
        extra: field(
          z.array(
            object(
              {
                key: field(z.string().min(1), 'The key, in lower case and with a domain.', {
                  example: 'example.org/team',
                }),
                valueExpression: field(z.string().min(1), 'A CEL expression that gives the value.', {
                  example: 'claims.team',
                }),
              },
              () => [
                // A key with its domain, which is none of Kubernetes' own.
                must(
                  'key',
                  all(
                    text(/^[a-z0-9.-]+\/[^/\s]\S*$/),
                    textWithout(/[A-Z]/),
                    textWithout(/^(?:[^/]*\.)?(?:k8s|kubernetes)\.io\//),
                  ),
                ),
              ],
            ),
          ),
          'Further attributes of the user.',
          { default: [], example: [{ key: 'example.org/team', valueExpression: 'claims.team' }] },
        ),
      }),
      'How claims become the attributes of a user.',
      { example: { username: { claim: 'sub', prefix: '' } } },
    ),
    userValidationRules: field(rulesOfUser, 'What must be true of the user that a token becomes.', {
      default: [],
      example: [{ expression: '!user.username.startsWith("system:")' }],
    }),
  },
  () => [
    must('issuer.url', textWithout(/[?#@]/)),
    must('issuer.discoveryURL', textWithout(/[?#@]/)),
    must('claimMappings.username', { type: 'object', ...claimForm(true) }),
    must('claimMappings.groups', { type: 'object', ...claimForm(true) }),
    must('claimMappings.uid', { type: 'object', ...claimForm(false) }),
  ],
);

function claimForm(withPrefix: boolean): JsonSchema {
  return all(
    exactlyOne('claim', 'expression'),
    when(has('expression'), without('prefix')),
    ...(withPrefix ? [when(has('claim'), has('prefix'))] : []),
  );
}

type Jwt = z.infer<typeof jwt>;

export function checkJwt(jwt: Jwt, path: readonly PathSegment[], minor: number): Finding[] {
  const { issuer, claimMappings, claimValidationRules } = jwt;
  const findings: Finding[] = checkEmail(jwt, path);
  const at = [...path, 'issuer'];
  if (issuer.audiences.length > 1) findings.push(...needs('severalAudiences', [...at, 'audiences'], minor));
  if (issuer.discoveryURL !== undefined) findings.push(...needs('issuerDiscoveryURL', [...at, 'discoveryURL'], minor));
  if (issuer.discoveryURL !== undefined && trimmedEnd(issuer.discoveryURL, '/') === trimmedEnd(issuer.url, '/')) {
    findings.push({ path: [...path, 'issuer', 'discoveryURL'], message: 'must differ from url', hint: 'remove it' });
  }
  for (const url of ['url', 'discoveryURL'] as const) {
    if (/[?#@]/.test(issuer[url] ?? '')) {
      findings.push({ path: [...path, 'issuer', url], message: 'must contain neither user, query nor fragment' });
    }
  }
  for (const name of ['username', 'groups', 'uid'] as const) {
    const mapping = claimMappings[name];
    if (mapping === undefined) continue;
    const at = [...path, 'claimMappings', name];
    findings.push(...oneOfBoth(mapping, at));
    const prefix = 'prefix' in mapping ? mapping.prefix : undefined;
    if (name !== 'uid' && mapping.claim !== undefined && prefix === undefined) {
      findings.push({ path: at, message: 'a claim needs its prefix', hint: 'prefix: "" for none' });
    }
    if (mapping.expression !== undefined && prefix !== undefined) {
      findings.push({ path: [...at, 'prefix'], message: 'a prefix belongs to a claim, not to an expression' });
    }
  }
  const keys = new Set<string>();
  claimMappings.extra?.forEach(({ key }, index) => {
    const at = [...path, 'claimMappings', 'extra', index, 'key'];
    if (!/^[a-z0-9.-]+\/[^/\s]\S*$/.test(key) || key !== key.toLowerCase()) {
      findings.push({ path: at, message: 'not a key in lower case with its domain', hint: 'such as example.org/team' });
    } else if (/^(?:.*\.)?(?:k8s|kubernetes)\.io\//.test(key)) {
      findings.push({ path: at, message: 'the domains k8s.io and kubernetes.io are reserved' });
    }
    if (keys.has(key)) findings.push({ code: 'Duplicate', path: at, message: 'this key is given twice' });
    keys.add(key);
  });
  claimValidationRules?.forEach((rule, index) => {
    const at = [...path, 'claimValidationRules', index];
    findings.push(...oneOfBoth(rule, at));
    if (rule.claim !== undefined && rule.message !== undefined) {
      findings.push({ path: [...at, 'message'], message: 'belongs to an expression' });
    }
    if (rule.expression !== undefined && rule.requiredValue !== undefined) {
      findings.push({ path: [...at, 'requiredValue'], message: 'belongs to a claim' });
    }
  });
  return findings;
}

/**
 * Whoever may write any address into a token could be anybody: the API server wants to see `claims.email_verified` where the
 * user name is made of `claims.email` (k/k staging/src/k8s.io/apiserver/pkg/apis/apiserver/validation/validation.go).
 */
function checkEmail({ claimMappings, claimValidationRules }: Jwt, path: readonly PathSegment[]): Finding[] {
  const { expression } = claimMappings.username;
  if (!uses(expression, 'email')) return [];
  const others = [
    expression,
    ...(claimMappings.extra ?? []).map(({ valueExpression }) => valueExpression),
    ...(claimValidationRules ?? []).map((rule) => rule.expression),
  ];
  if (others.some((other) => uses(other, 'email_verified'))) return [];
  const message = 'claims.email needs claims.email_verified, here or in claimValidationRules';
  const hint = 'add claimValidationRules: [{expression: "claims.?email_verified.orValue(true) == true"}]';
  return [{ path: [...path, 'claimMappings', 'username', 'expression'], message, hint }];
}

/** Whether a CEL expression selects a field of the claims; the texts in it are no selections. */
function uses(expression: string | undefined, field: string): boolean {
  return new RegExp(`\\bclaims\\s*\\.\\s*(?:\\?\\s*)?${field}\\b`).test(withoutTexts(expression ?? ''));
}

function withoutTexts(expression: string): string {
  let code = '';
  let quote = '';
  let from = 0;
  for (const { 0: found, index } of expression.matchAll(/\\.|["']/gs)) {
    if (quote === '' && found.length === 1) {
      code += `${expression.slice(from, index)}""`;
      quote = found;
    } else if (quote !== '' && found === quote) {
      from = index + 1;
      quote = '';
    }
  }
  return quote === '' ? code + expression.slice(from) : code;
}

function oneOfBoth(
  { claim, expression }: { readonly claim?: string | undefined; readonly expression?: string | undefined },
  path: readonly PathSegment[],
): Finding[] {
  if ((claim === undefined) !== (expression === undefined)) return [];
  const message =
    claim === undefined ? 'neither claim nor expression is given' : 'claim and expression exclude each other';
  return [{ path, message }];
}
