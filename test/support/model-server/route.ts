import type { AnyApi } from './request.ts'

type Route = { to: 'model'; api: AnyApi } | { to: 'count-tokens' | 'models' | 'hello' | 'nowhere' }

/** Goes by the end of the path: clients differ in whether `/v1` belongs to the base URL or to the endpoint. */
export function routeOf(method: string, path: string): Route {
  if (method === 'POST') {
    if (path.endsWith('/chat/completions')) return { to: 'model', api: 'chat-completions' }
    if (path.endsWith('/responses')) return { to: 'model', api: 'responses' }
    if (path.endsWith('/messages')) return { to: 'model', api: 'messages' }
    if (/\/models\/[^/:]+:(streamG|g)enerateContent$/.test(path)) return { to: 'model', api: 'generate-content' }
    if (/(\/messages\/count_tokens|:countTokens)$/.test(path)) return { to: 'count-tokens' }
  } else if (method === 'GET' || method === 'HEAD') {
    if (path.endsWith('/models')) return { to: 'models' }
    // Claude Code asks HEAD / before it starts.
    if (/^\/(v1\/?)?$/.test(path)) return { to: 'hello' }
  }
  return { to: 'nowhere' }
}

/** Fits both providers' shape of a model list. */
export function modelList(models: readonly string[], created: number): object {
  const listed = models.map((id) => ({
    id,
    object: 'model',
    created: Math.floor(created / 1000),
    owned_by: 'scripted',
    type: 'model',
    display_name: id,
    created_at: new Date(created).toISOString(),
  }))
  return { object: 'list', data: listed, has_more: false, first_id: models.at(0), last_id: models.at(-1) }
}
