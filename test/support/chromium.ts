import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PROGRAMS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The browser of this system, without a window. Its own requests (updates, safe browsing) are off. */
export async function openBrowser(): Promise<Browser> {
  const executablePath = PROGRAMS.find((path) => existsSync(path)) ?? '';
  // As root, in a container, there is no sandbox and little of /dev/shm.
  const args = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--disable-background-networking'];
  return await chromium.launch({ executablePath, args, timeout: 120_000 });
}
