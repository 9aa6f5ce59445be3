/** The mount points in proc_pid_mountinfo(5), in its order. */
export function mountPointsOf(mountinfo: string): readonly string[] {
  return mountinfo.split('\n').flatMap((line) => {
    const path = line.split(' ')[4];
    if (path === undefined) return [];
    return [path.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))];
  });
}
