import { beyond, invalid, PEM, type Source, valid } from './source.ts';

const sink = (text: string): string => `reporting: {sinks: [${text}]}`;
const WEBHOOK = 'url: "https://a.example"';
const TO = 'configMap: {namespace: a, name: b}';
const QUEUE = 'queueURL: "https://sqs.eu-west-1.amazonaws.com/123456789012/a"';
const TOPIC = 'topicARN: "arn:aws:sns:eu-west-1:123456789012:a"';
const SECRET = 'whsec_QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB';

/** `reporting`. */
export const REPORTING_VECTORS: readonly Source[] = [
  valid(
    'the local sinks',
    'reporting: {deadline: 2m, sinks: [{type: Journal}, {type: Console, device: /dev/ttyS0}, {type: SystemdNotify}]}',
  ),
  valid('a serial port of Windows', sink('{type: Console, device: COM1}')),
  invalid('an invalid device', 'InvalidValue', sink('{type: Console, device: ¦ttyS0}')),
  invalid('an unknown sink', 'InvalidType', sink('{type: ¦Pigeon}')),
  invalid('a sink without a type', 'MissingField', sink('¦{}')),
  invalid('a field of another sink', 'UnknownField', sink('{type: Journal, ¦url: "https://a.example"}')),
  invalid(
    'more sinks than serve',
    'InvalidValue',
    `reporting: {sinks: ¦[${Array.from({ length: 33 }, (_, at) => `{type: Guestinfo, name: s${at}}`).join(', ')}]}`,
  ),
  valid('a program', sink('{type: Exec, command: [/a], environment: {A: b}, events: [concluded], timeout: 5s}')),
  invalid('an unknown event', 'InvalidValue', sink('{type: Exec, command: [/a], events: [¦finished]}')),
  invalid('no events', 'InvalidValue', sink('{type: Exec, command: [/a], events: ¦[]}')),
  invalid('a name with a blank', 'InvalidValue', sink('{type: Guestinfo, name: ¦"a b"}')),
  beyond('a name twice', 'Duplicate', sink('{type: Guestinfo, name: a}, ¦{type: Guestinfo, name: a}')),

  valid('a webhook', sink(`{type: Webhook, ${WEBHOOK}, secret: ${SECRET}, headers: {X-A: b}}`)),
  valid('a webhook on this machine', sink('{type: Webhook, url: "http://localhost:880", headers: {X-A: b}}')),
  invalid('a webhook without a URL', 'MissingField', sink('¦{type: Webhook}')),
  invalid(
    'a webhook that shows its headers',
    'Conflict',
    sink('{type: Webhook, url: ¦"http://a.example", headers: {X-A: b}}'),
  ),
  invalid('a webhook that shows its password', 'Conflict', sink('{type: Webhook, url: ¦"http://a:b@a.example"}')),
  valid('a webhook without a secret', sink('{type: Webhook, url: "http://a.example"}')),
  invalid('a short secret', 'Conflict', sink(`{type: Webhook, ${WEBHOOK}, secret: ¦whsec_QUFB}`)),
  invalid('a short second secret', 'Conflict', sink(`{type: Webhook, ${WEBHOOK}, previousSecret: ¦abc}`)),

  valid(
    'a ConfigMap',
    sink(`{type: Kubernetes, server: "https://a:6443", certificateAuthority: ${PEM}, token: x, ${TO}}`),
  ),
  valid('a kubeconfig', sink(`{type: Kubernetes, kubeconfig: x, ${TO}}`)),
  invalid(
    'a kubeconfig and a server',
    'Conflict',
    sink(`{type: Kubernetes, kubeconfig: x, server: ¦"https://a:6443", ${TO}}`),
  ),
  invalid('no server', 'Conflict', sink(`¦{type: Kubernetes, certificateAuthority: ${PEM}, token: x, ${TO}}`)),
  invalid('no authority', 'Conflict', sink(`¦{type: Kubernetes, server: "https://a:6443", token: x, ${TO}}`)),
  invalid(
    'no credential',
    'Conflict',
    sink(`¦{type: Kubernetes, server: "https://a:6443", certificateAuthority: ${PEM}, ${TO}}`),
  ),
  invalid(
    'two credentials',
    'Conflict',
    sink(
      `{type: Kubernetes, server: "https://a:6443", certificateAuthority: ${PEM}, token: x, clientCertificate: ¦{certificate: ${PEM}, key: y}, ${TO}}`,
    ),
  ),
  invalid('no ConfigMap', 'MissingField', sink('¦{type: Kubernetes, kubeconfig: x}')),
  invalid(
    'a namespace with a dot',
    'InvalidValue',
    sink('{type: Kubernetes, kubeconfig: x, configMap: {namespace: ¦a.b, name: c}}'),
  ),
  valid('the Node itself', sink('{type: Node}')),

  valid('NATS', sink('{type: NATS, servers: ["tls://a.example:4222"], subject: a.b, credentials: {token: x}}')),
  valid('NATS with a seed', sink('{type: NATS, servers: ["nats://a.example"], subject: a, credentials: {nkey: x}}')),
  invalid(
    'a token that NATS shows',
    'Conflict',
    sink('{type: NATS, servers: [¦"nats://a.example"], subject: a, credentials: {token: x}}'),
  ),
  invalid(
    'a password that NATS shows',
    'Conflict',
    sink('{type: NATS, servers: [¦"nats://a.example"], subject: a, credentials: {user: u, password: x}}'),
  ),
  valid(
    'a password on this machine',
    sink('{type: NATS, servers: ["nats://127.0.0.1:422"], subject: a, credentials: {user: u, password: x}}'),
  ),
  invalid('an invalid NATS port', 'Conflict', sink('{type: NATS, servers: [¦"tls://a.example:70000"], subject: a}')),
  invalid('no server of NATS', 'InvalidValue', sink('{type: NATS, servers: ¦[], subject: a}')),
  invalid(
    'a subject with a wildcard',
    'InvalidValue',
    sink('{type: NATS, servers: ["tls://a.example"], subject: ¦"a.*"}'),
  ),

  valid('a topic of SNS', sink(`{type: AWS, ${TOPIC}, bucket: {name: abc, prefix: a/}}`)),
  valid('a queue of SQS', sink(`{type: AWS, ${QUEUE}}`)),
  invalid('neither topic nor queue', 'Conflict', sink('¦{type: AWS}')),
  invalid('topic and queue', 'Conflict', sink(`¦{type: AWS, ${TOPIC}, ${QUEUE}}`)),
  invalid('an endpoint of a queue', 'Conflict', sink(`{type: AWS, ${QUEUE}, endpoint: ¦"https://a.example"}`)),
  invalid('an invalid ARN', 'InvalidValue', sink('{type: AWS, topicARN: ¦"arn:aws:s3:::a"}')),
  invalid('a prefix without its end', 'InvalidValue', sink(`{type: AWS, ${TOPIC}, bucket: {name: abc, prefix: ¦a}}`)),
  valid('Pub/Sub', sink('{type: GCP, topic: projects/my-project/topics/bootstrap}')),
  invalid('a topic without its project', 'InvalidValue', sink('{type: GCP, topic: ¦bootstrap}')),
  valid('a queue of Azure', sink('{type: Azure, queueURL: "https://account.queue.core.windows.net/bootstrap"}')),
  invalid('neither of Azure', 'Conflict', sink('¦{type: Azure}')),
  invalid(
    'an identity that is no UUID',
    'InvalidValue',
    sink('{type: Azure, queueURL: "https://account.queue.core.windows.net/bootstrap", clientID: ¦abc}'),
  ),
  valid(
    'a collector',
    sink(
      '{type: OTLP, url: "https://a.example/v1/traces", traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01}',
    ),
  ),
  invalid(
    'a trace of zeros',
    'InvalidValue',
    sink(`{type: OTLP, url: "https://a.example/v1/traces", traceparent: ¦00-${'0'.repeat(32)}-00f067aa0ba902b7-01}`),
  ),
  invalid(
    'a collector with choices',
    'UnknownField',
    sink('{type: OTLP, url: "https://a.example", ¦events: [started]}'),
  ),
  invalid('a sentinel that is relative', 'InvalidValue', 'reporting: {sentinel: {path: ¦a}}'),
];
