// The whole: who may see it, the live stream, the frame, and the page of the address.

import { QueryClientProvider } from '@tanstack/react-query'
import { Component, type ReactNode, useEffect } from 'react'
import { access, signIn } from '../data/access.ts'
import { startLive } from '../data/live.ts'
import { queryClient } from '../data/queries.ts'
import { useValue } from '../data/store.ts'
import { Empty, Failure } from '../parts/states.tsx'
import { Frame } from './frame.tsx'
import { Notices } from './notices.tsx'
import { pageAt } from './pages.ts'
import { Link, usePlace } from './router.tsx'
import { listenToKeys } from './shortcuts.tsx'
import { SignIn } from './sign-in.tsx'

export function App() {
  const { state } = useValue(access)
  useEffect(() => {
    void signIn()
    // The address of a new code opened in the same tab changes nothing but the fragment.
    const again = () => {
      if (window.location.hash.includes('code=')) void signIn()
    }
    window.addEventListener('hashchange', again)
    return () => window.removeEventListener('hashchange', again)
  }, [])
  if (state === 'checking') return null
  if (state === 'out') return <SignIn />
  return (
    <QueryClientProvider client={queryClient}>
      <SignedIn />
    </QueryClientProvider>
  )
}

function SignedIn() {
  useEffect(() => startLive(), [])
  useEffect(() => listenToKeys(), [])
  return (
    <Frame>
      <CurrentPage />
      <Notices />
    </Frame>
  )
}

function CurrentPage() {
  const { path } = usePlace()
  const found = pageAt(path)
  if (found === undefined) {
    return (
      <Empty icon="search" title="There is no such page">
        <Link to="/">Go to the overview</Link>
      </Empty>
    )
  }
  const { page, fields } = found
  const View = page.view
  return (
    <Boundary key={path}>
      <Title text={page.title} />
      <View fields={fields} />
    </Boundary>
  )
}

function Title({ text }: { text: string }) {
  useEffect(() => {
    document.title = `${text} · Baton`
  }, [text])
  return null
}

/** A page that fails leaves the others alone. */
class Boundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state: { error: unknown } = { error: undefined }

  static getDerivedStateFromError(error: unknown): { error: unknown } {
    return { error }
  }

  override render(): ReactNode {
    if (this.state.error === undefined) return this.props.children
    return <Failure error={this.state.error} onRetry={() => window.location.reload()} />
  }
}
