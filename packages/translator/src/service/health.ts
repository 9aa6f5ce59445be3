import { createServer, type Server } from 'node:http';
import type { Metrics } from '../telemetry/metrics.ts';

/** Answers probes and Prometheus. `isReady` says whether admission requests are served. */
export function healthServer(metrics: Metrics, isReady: () => boolean): Server {
  return createServer((request, response) => {
    const answer = (status: number, text: string, type = 'text/plain; charset=utf-8') =>
      response.writeHead(status, { 'content-type': type }).end(text);
    const path = request.url?.split('?')[0];
    if (request.method !== 'GET') answer(405, 'only GET is allowed\n');
    else if (path === '/healthz') answer(200, 'ok\n');
    else if (path === '/readyz') answer(isReady() ? 200 : 503, isReady() ? 'ok\n' : 'not ready\n');
    else if (path === '/metrics') {
      metrics.registry.metrics().then(
        (text) => answer(200, text, metrics.registry.contentType),
        () => answer(500, 'metrics failed\n'),
      );
    } else answer(404, 'not found\n');
  });
}
