// What is around every page: the navigation (a rail; on a phone a bar at the bottom), the palette, the sheet of keys, and how the
// connection stands.

import { type ReactNode, useState } from 'react'
import { connection } from '../data/live.ts'
import { useOperation } from '../data/queries.ts'
import { useValue } from '../data/store.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Icon, Logo } from '../parts/icon.tsx'
import { Text } from '../parts/text.tsx'
import { type Page, pages } from './pages.ts'
import { Palette } from './palette.tsx'
import { Link, navigate, usePlace } from './router.tsx'
import { Keys, ShortcutSheet, useShortcut } from './shortcuts.tsx'
import { setTheme, theme } from './theme.ts'

type NavPage = Page & { nav: NonNullable<Page['nav']> }

const navPages = pages.filter((page): page is NavPage => page.nav !== undefined)
const groups = ['work', 'state', 'machine'] as const
/** How many fit into the bar of a phone beside "More". */
const inBar = 4

export function Frame({ children }: { children: ReactNode }) {
  const [open, setOpen] = useState<'palette' | 'keys' | 'more'>()
  const { path } = usePlace()
  const close = () => setOpen(undefined)
  useShortcut('mod+k', 'Search and commands', () => setOpen('palette'), 'Everywhere')
  useShortcut('/', 'Search and commands', () => setOpen('palette'), 'Everywhere')
  useShortcut('?', 'This sheet', () => setOpen('keys'), 'Everywhere')
  return (
    <div className="frame">
      <a className="skip" href="#content">
        Skip to the content
      </a>
      <aside className="rail">
        <Link to="/" className="rail-logo">
          <Logo />
        </Link>
        <button type="button" className="rail-search" onClick={() => setOpen('palette')}>
          <Icon name="search" />
          <span className="grow">Search</span>
          <Keys keys="mod+k" />
        </button>
        <nav className="rail-nav" aria-label="Pages">
          {groups.map((group) => (
            <ul key={group}>
              {navPages
                .filter(({ nav }) => nav.group === group)
                .map((page) => (
                  <li key={page.path}>
                    <NavLink page={page} />
                    <GoKey page={page} />
                  </li>
                ))}
            </ul>
          ))}
        </nav>
        <RailFoot onKeys={() => setOpen('keys')} />
      </aside>
      <header className="top-bar">
        <Link to="/">
          <Logo />
        </Link>
        <ConnectionDot />
        <button
          type="button"
          className="icon-button"
          aria-label="Search and commands"
          onClick={() => setOpen('palette')}
        >
          <Icon name="search" />
        </button>
      </header>
      <main id="content" className="content" tabIndex={-1}>
        <ConnectionBanner />
        {children}
      </main>
      <nav className="bottom-bar" aria-label="Pages">
        {navPages.slice(0, inBar).map((page) => (
          <NavLink key={page.path} page={page} />
        ))}
        <button
          type="button"
          className="nav-link"
          aria-current={navPages.slice(inBar).some((page) => isAt(page, path)) ? 'true' : undefined}
          onClick={() => setOpen('more')}
        >
          <Icon name="more" />
          <span>More</span>
        </button>
      </nav>
      {open === 'palette' && <Palette onClose={close} onKeys={() => setOpen('keys')} />}
      {open === 'keys' && <ShortcutSheet onClose={close} />}
      {open === 'more' && (
        <Dialog title="Pages" onClose={close}>
          {/* A press on any of the links closes it. */}
          <ul className="more-pages">
            {navPages.map((page) => (
              <li key={page.path}>
                <NavLink page={page} onClick={close} />
              </li>
            ))}
          </ul>
          <ThemeChoice />
        </Dialog>
      )}
    </div>
  )
}

/** Whether an address is that of a page, or of something on it. */
function isAt(page: NavPage, path: string): boolean {
  return page.path === '/' ? path === '/' : path === page.path || path.startsWith(`${page.path}/`)
}

function NavLink({ page, onClick }: { page: NavPage; onClick?: () => void }) {
  const { path } = usePlace()
  return (
    <Link to={page.path} className="nav-link" aria-current={isAt(page, path) ? 'page' : undefined} onClick={onClick}>
      <Icon name={page.nav.icon} />
      <span>{page.title}</span>
      {page.path === '/inbox' && <WaitingCount />}
    </Link>
  )
}

function GoKey({ page }: { page: NavPage }) {
  useShortcut(`g ${page.nav.key}`, page.title, () => navigate(page.path), 'Go to')
  return null
}

function WaitingCount() {
  const { data } = useOperation('waitingList', {})
  const count = data?.items.length ?? 0
  if (count === 0) return null
  return (
    <span className="nav-count" aria-label={`${count} waiting`}>
      {count}
    </span>
  )
}

function RailFoot({ onKeys }: { onKeys: () => void }) {
  const { data } = useOperation('workspaceInfo', {})
  const name = data?.project.split('/').findLast((part) => part !== '') ?? ''
  return (
    <div className="rail-foot">
      <div className="row">
        <ConnectionDot />
        <span className="grow cut small" title={data?.place}>
          <Text>{name}</Text>
        </span>
        <span className="faint tiny">{data?.version}</span>
      </div>
      <div className="row">
        <ThemeChoice />
        <button type="button" className="icon-button" aria-label="Keyboard" title="Keyboard (?)" onClick={onKeys}>
          <kbd>?</kbd>
        </button>
      </div>
    </div>
  )
}

const themes = [
  ['light', 'sun'],
  ['system', 'system'],
  ['dark', 'moon'],
] as const

function ThemeChoice() {
  const now = useValue(theme)
  return (
    <fieldset className="theme-choice">
      <legend className="unseen">Colours</legend>
      {themes.map(([name, icon]) => (
        <label key={name} title={name} className={now === name ? 'theme-now' : undefined}>
          <input type="radio" name="theme" className="unseen" checked={now === name} onChange={() => setTheme(name)} />
          <Icon name={icon} size={14} />
          <span className="unseen">{name}</span>
        </label>
      ))}
    </fieldset>
  )
}

const connectionWords = { connecting: 'Connecting', live: 'Live', reconnecting: 'Reconnecting' }

function ConnectionDot() {
  const now = useValue(connection)
  return (
    <span className={`connection connection-${now}`} title={connectionWords[now]}>
      <span className="unseen">{connectionWords[now]}</span>
    </span>
  )
}

function ConnectionBanner() {
  const now = useValue(connection)
  if (now !== 'reconnecting') return null
  return (
    <div className="banner" role="status">
      <span className="connection connection-reconnecting" />
      The server does not answer. What you see is from before; this page continues by itself when it is back.
    </div>
  )
}
