import type { Reason } from '@machineadm/document/outcomes/reasons.ts';

/** Why an API server cannot be used at an address where clients look for it. */
export interface EndpointTrouble {
  readonly reason: Extract<
    Reason,
    | 'APIEndpointDNSFailure'
    | 'APIEndpointConnectionRefused'
    | 'APIEndpointTimeout'
    | 'APIEndpointNotTLS'
    | 'APIEndpointLoadBalancerUnhealthy'
    | 'APIEndpointOtherCluster'
    | 'APIServerUnavailable'
    | 'APIServerCertSANMismatch'
    | 'APIServerCertUntrusted'
    | 'CertificateExpired'
    | 'ClockSkew'
  >;
  /** One line, without a period: the observation, with the address. */
  readonly text: string;
  readonly remedy: string;
}

/** The name does not resolve. */
export function nameTrouble(shown: string, code: string): EndpointTrouble {
  return {
    reason: 'APIEndpointDNSFailure',
    text: `the name of the API endpoint ${shown} does not resolve (${code})`,
    remedy: 'Correct the name or the resolver (/etc/resolv.conf), or use an address.',
  };
}

/** No connection. */
export function connectionTrouble(shown: string, code: string): EndpointTrouble {
  if (code === 'ECONNREFUSED') {
    return {
      reason: 'APIEndpointConnectionRefused',
      text: `the API endpoint ${shown} refuses connections`,
      remedy: 'Check that the API server or its load balancer runs, and that the port is correct.',
    };
  }
  return {
    reason: 'APIEndpointTimeout',
    text: `the API endpoint ${shown} cannot be reached (${code})`,
    remedy: 'Check routes, firewalls and security groups between this machine and the endpoint.',
  };
}

/** A connection, but no answer of an API server that `authority` (a path) vouches for. */
export function tlsTrouble(shown: string, code: string, authority: string): EndpointTrouble {
  switch (code) {
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return {
        reason: 'APIServerCertSANMismatch',
        text: `the certificate of the API server at ${shown} is for other names`,
        remedy: 'Add the name or address to kubernetes.controlPlane.apiServer.certSANs, or join by one that it has.',
      };
    case 'CERT_HAS_EXPIRED':
      return {
        reason: 'CertificateExpired',
        text: `the certificate of the API server at ${shown} has expired, or the clock here is ahead`,
        remedy: 'Compare the clocks, then renew it there with `kubeadm certs renew`.',
      };
    case 'CERT_NOT_YET_VALID':
      return {
        reason: 'ClockSkew',
        text: `the certificate of the API server at ${shown} is not valid yet: the clock here is behind`,
        remedy: 'Set the clock (host.time).',
      };
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'CERT_SIGNATURE_FAILURE':
      return {
        reason: 'APIServerCertUntrusted',
        text: `the certificate of the API server at ${shown} is not signed by ${authority}`,
        remedy: 'The CA here belongs to another cluster, or another server answers there. Compare them.',
      };
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
    case 'ERR_SSL_PACKET_LENGTH_TOO_LONG':
    case 'EPROTO':
      return {
        reason: 'APIEndpointNotTLS',
        text: `the server at the API endpoint ${shown} does not use TLS (${code})`,
        remedy: 'Forward the connections as they are (TCP), without ending TLS at the load balancer.',
      };
    default:
      return {
        reason: 'APIEndpointLoadBalancerUnhealthy',
        text: `the API endpoint ${shown} accepts connections but does not answer as an API server (${code})`,
        remedy: 'Check the load balancer and its backends.',
      };
  }
}

const NAME_CODES: ReadonlySet<string> = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'EAI_NODATA', 'EAI_NONAME']);
const CONNECTION_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'EADDRNOTAVAIL',
  'EINVAL',
]);

/** The same by the code of one request that went all the way: name, connection, TLS. */
export function requestTrouble(shown: string, code: string, authority: string): EndpointTrouble {
  if (NAME_CODES.has(code)) return nameTrouble(shown, code);
  return CONNECTION_CODES.has(code) ? connectionTrouble(shown, code) : tlsTrouble(shown, code, authority);
}
