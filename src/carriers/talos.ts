import type { Carrier } from './carrier.ts';
import { base64, gzipBase64 } from './encoding.ts';
import { refusesWindows } from './linux.ts';

/**
 * The document for a system extension that runs machineadm: Talos lays it where the service's container looks for it
 * (siderolabs/talos pkg/machinery/config/types/runtime/extensions). The extension itself is part of the image.
 *
 * Talos has neither kubeadm nor a shell, and starts Kubernetes itself. So a document that asks for a node is refused, and
 * does not half of what it says.
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
