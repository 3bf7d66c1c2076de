// A tape: its entries, and what a model sees of it.

import { useOperation } from '../../data/queries.ts'
import { countText } from '../../parts/numbers.ts'
import { Text } from '../../parts/text.tsx'
import type { PageProps } from '../../shell/pages.ts'
import { TapeView } from './tape-view.tsx'

export default function TapePage({ fields: { tape = '' } }: PageProps) {
  const info = useOperation('tapeInfo', { tape }, { keep: true })
  return (
    <TapeView
      tape={tape}
      title={
        <span className="mono tape-name">
          <Text max={160}>{tape}</Text>
        </span>
      }
      about={
        info.data === undefined ? null : (
          <>
            <span className="number">{countText(info.data.entries)} entries</span>
            <span className="number">
              {info.data.anchors === 1 ? '1 phase' : `${countText(info.data.anchors)} phases`}
            </span>
            {info.data.owner !== undefined && (
              <span>
                belongs to <Text max={60}>{info.data.owner}</Text>
              </span>
            )}
          </>
        )
      }
    />
  )
}
