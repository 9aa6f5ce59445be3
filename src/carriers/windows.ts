/** Where Windows machines find the document. */
export const WINDOWS_DIRECTORY = 'C:\\ProgramData\\machineadm';
export const WINDOWS_DOCUMENT = `${WINDOWS_DIRECTORY}\\bootstrap.yaml`;
/** Where Kubernetes' image-builder puts kubeadm and the kubelet (images/capi/ansible/windows). */
export const WINDOWS_PROGRAM = 'C:\\k\\machineadm.exe';

/**
 * Takes the directory away from everybody but the system and administrators, by their SIDs: their names are translated.
 * Below C:\ProgramData users may read what is inherited.
 */
export const CLOSE_DIRECTORY = `icacls.exe ${WINDOWS_DIRECTORY} /inheritance:r /grant:r *S-1-5-18:(OI)(CI)F *S-1-5-32-544:(OI)(CI)F /T`;
