import type { Carrier } from './carrier.ts';
import { base64, gzipBase64 } from './encoding.ts';
import { refusesWindows } from './linux.ts';

/**
 * The document for a Talos system extension that runs machineadm: Talos writes it where the service's container expects
 * it (siderolabs/talos pkg/machinery/config/types/runtime/extensions). The image must contain the extension.
 * Talos has neither kubeadm nor a shell, and starts Kubernetes itself. So a document that describes a node is refused
 * as a whole.
 */
export const talos: Carrier = {
  consumer: 'Talos, with an extension service machineadm',
  program: undefined,
  fetches: undefined,
  secretFormat: undefined,
  refuses: (model) =>
    model.kubernetes === undefined
      ? refusesWindows(model)
      : 'Talos starts Kubernetes itself: a document for it has no "kubernetes" section',
  async wrap({ document, encoding }) {
    return `apiVersion: v1alpha1
kind: ExtensionServiceConfig
name: machineadm
configFiles:
- mountPath: /etc/machineadm/bootstrap.yaml
  content: ${encoding === 'base64' ? base64(document) : await gzipBase64(document)}
`;
  },
};
