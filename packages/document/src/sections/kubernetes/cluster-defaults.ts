/** What kubeadm sets where the document does not (k/k cmd/kubeadm/app/apis/kubeadm/v1beta4/defaults.go). */
export const DEFAULT_SERVICE_SUBNET = '10.96.0.0/12';
export const DEFAULT_DNS_DOMAIN = 'cluster.local';
export const DEFAULT_API_PORT = 6443;
