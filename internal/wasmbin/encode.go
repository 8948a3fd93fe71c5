package wasmbin

// Encode writes the module. Sections that no edit touched are written as they
// were read. What an edit says about indices holds.
func (m *Module) Encode() []byte {
	out := append(make([]byte, 0, m.sizeHint()), "\x00asm\x01\x00\x00\x00"...)
	wroteExports := false
	for _, s := range m.sections {
		if !wroteExports && m.exportsDirty && s.id != secCustom && sectionRank(s.id) >= sectionRank(secExport) {
			out = appendSection(out, secExport, m.encodeExports())
			wroteExports = true
		}
		raw := s.raw
		switch {
		case s.id == secExport && m.exportsDirty:
			continue
		case s.id == secType && m.typesDirty:
			raw = m.encodeTypes()
		case s.id == secImport && m.importsDirty:
			raw = m.encodeImports()
		case s.id == secTable && m.tablesDirty:
			raw = m.encodeTables()
		case s.id == secFunction && m.funcsDirty:
			raw = appendVec(nil, m.Funcs)
		case s.id == secCode && m.codeDirty:
			raw = m.encodeCode()
		}
		out = appendSection(out, s.id, raw)
	}
	if m.exportsDirty && !wroteExports {
		out = appendSection(out, secExport, m.encodeExports())
	}
	return out
}

func (m *Module) sizeHint() int {
	n := 64
	for _, s := range m.sections {
		n += len(s.raw) + 6
	}
	if m.codeDirty {
		for _, b := range m.bodies {
			n += len(b) + 5
		}
	}
	return n
}

func appendSection(out []byte, id byte, raw []byte) []byte {
	out = append(out, id)
	out = appendU32(out, uint32(len(raw)))
	return append(out, raw...)
}

func appendVec(b []byte, v []uint32) []byte {
	b = appendU32(b, uint32(len(v)))
	for _, x := range v {
		b = appendU32(b, x)
	}
	return b
}

func appendName(b []byte, s string) []byte {
	return append(appendU32(b, uint32(len(s))), s...)
}

func (m *Module) encodeTypes() []byte {
	b := appendU32(nil, uint32(len(m.Types)))
	for _, t := range m.Types {
		b = append(b, 0x60)
		b = appendName(b, string(t.Params))
		b = appendName(b, string(t.Results))
	}
	return b
}

// encodeImports writes the imports, which are functions: edits of others are refused.
func (m *Module) encodeImports() []byte {
	b := appendU32(nil, uint32(len(m.Imports)))
	for _, im := range m.Imports {
		b = appendName(appendName(b, im.Module), im.Name)
		b = appendU32(append(b, im.Kind), im.Type)
	}
	return b
}

func (m *Module) encodeTables() []byte {
	b := appendU32(nil, uint32(len(m.Tables)))
	for _, t := range m.Tables {
		b = append(b, t.Elem)
		if !t.HasMax {
			b = appendU32(append(b, 0), t.Min)
			continue
		}
		b = appendU32(appendU32(append(b, 1), t.Min), t.Max)
	}
	return b
}

func (m *Module) encodeExports() []byte {
	b := appendU32(nil, uint32(len(m.Exports)))
	for _, e := range m.Exports {
		b = appendName(b, e.Name)
		b = append(b, e.Kind)
		b = appendU32(b, e.Index)
	}
	return b
}

func (m *Module) encodeCode() []byte {
	b := appendU32(nil, uint32(len(m.bodies)))
	for _, body := range m.bodies {
		b = appendU32(b, uint32(len(body)))
		b = append(b, body...)
	}
	return b
}
