import { isMap } from '../values/map.ts';
import { GO_FUNCTIONS } from './functions.ts';
import { renderGoTemplate } from './render.ts';
import { GoTemplateError } from './tokens.ts';

/**
 * contentFormat Template (cluster-api v1.14): Go's text/template over `.controlPlane.version`, which is absent when the
 * version of the control plane is unknown.
 */

export const TEMPLATE_HINT =
  "only .controlPlane.version and Go's own functions are known; give --control-plane-version where it is used";

/**
 *
 * @returns undefined where the template uses more than this, or a version that is unknown
 */
export function renderTemplate(template: string, controlPlaneVersion: string | undefined): string | undefined {
  const data = controlPlaneVersion === undefined ? {} : { controlPlane: { version: controlPlaneVersion } };
  try {
    return renderGoTemplate(template, data, GO_FUNCTIONS);
  } catch (error) {
    if (error instanceof GoTemplateError) return undefined;
    throw error;
  }
}

/** A KubeadmConfigSpec with rendered template files. */
export function renderTemplates(
  spec: unknown,
  controlPlaneVersion: string | undefined,
  rendered: (index: number, text: string | undefined) => void,
): unknown {
  if (!isMap(spec) || !Array.isArray(spec.files)) return spec;
  const files = spec.files.map((file: unknown, index) => {
    if (!isMap(file) || file.contentFormat !== 'Template' || typeof file.content !== 'string') return file;
    const text = renderTemplate(file.content, controlPlaneVersion);
    rendered(index, text);
    return { ...file, content: text ?? '' };
  });
  return { ...spec, files };
}
