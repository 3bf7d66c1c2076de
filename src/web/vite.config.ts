// How the dashboard is built. While you work on it: npx vite build src/web --outDir ../../dist/web --emptyOutDir

import { defineConfig } from 'vite'

export default defineConfig({
  logLevel: 'warn',
  build: {
    // The policy of the page allows images as data: and nothing else, and no inline script.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2023',
    rolldownOptions: {
      // React's packages mark what is for browsers only; here everything is.
      onLog: (level, log, report) => {
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') report(level, log)
      },
    },
  },
})
