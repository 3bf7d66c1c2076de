// The dashboard: one page app that `baton up` serves. It knows the server through src/client alone, so whatever it shows is an
// operation that every other door has too.
//
//   data/    the client, queries on operations, and the one live stream that keeps them fresh
//   shell/   what is around every page: access, router, navigation, palette, shortcuts, notices
//   parts/   what pages are made of: gauges, badges, tables, texts of others, times
//   pages/   one folder a page, loaded when it is opened; `shell/pages.ts` lists them
//   style/   tokens (type, space, colour), the base, and the style of parts and shell; a page has its own style beside it
//
// Everything that comes from a tape was written by somebody else: it is shown as text (`parts/text.tsx`), never as HTML. The
// policy of the page allows no inline script and no style attribute in HTML; React sets styles through the DOM, which is allowed.

import '@fontsource-variable/geist/wght.css'
import '@fontsource-variable/geist-mono/wght.css'
import './style/tokens.css'
import './style/base.css'
import './style/parts.css'
import './style/shell.css'
import { createRoot } from 'react-dom/client'
import { codeInAddress } from './data/access.ts'
import { askAhead, sessionsAsked } from './data/queries.ts'
import { App } from './shell/app.tsx'
import { pageAt } from './shell/pages.ts'
import { applyTheme } from './shell/theme.ts'

// While it is not known yet who looks, the server can find what almost every page begins with.
pageAt(window.location.pathname)?.page.view.load()
if (codeInAddress() === null) askAhead('sessionList', sessionsAsked)
applyTheme()
createRoot(document.getElementById('root')!).render(<App />)
