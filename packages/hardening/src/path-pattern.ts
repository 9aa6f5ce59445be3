/** Whether a pattern matches a path, existing or not. */
export function matchesPattern(pattern: string, path: string): boolean {
  const segments = pattern.split('/').map((segment) => {
    if (segment === '**') return '.+';
    return segment
      .split('*')
      .map((part) => part.replace(/[.+^${}()|[\]\\]/g, '\\$&'))
      .join('[^/]*');
  });
  return new RegExp(`^${segments.join('/').replace('/.+/', '/(?:.+/)?')}$`).test(path);
}
