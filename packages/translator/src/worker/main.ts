import { serveConversions } from './tasks.ts';

// The program of a thread for conversions. It is bundled by itself: it needs nothing of the service, and the service no document.
serveConversions();
