/** RFC 1123 subdomain, as a Node's name must be (k/k staging/src/k8s.io/apimachinery/pkg/util/validation). */
export const NODE_NAME = /^[a-z0-9](?:-*[a-z0-9])*(?:\.[a-z0-9](?:-*[a-z0-9])*)*$/;
