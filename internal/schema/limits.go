package schema

// Bounds. They are constants, not options: the people who could have a reason to raise them are the ones they are for.
const (
	// MaxSchemaBytes bounds the text of one schema.
	MaxSchemaBytes = 256 << 10
	// MaxSchemaDepth bounds the nesting of one schema's text.
	MaxSchemaDepth = 64
	// MaxSchemaValues bounds the JSON values in one schema's text. The library's reference resolution is quadratic in it.
	MaxSchemaValues = 8192
	// MaxSchemaRefs bounds the references in one schema's text.
	MaxSchemaRefs = 512
	// MaxPatternBytes bounds the text of one regular expression.
	MaxPatternBytes = 2048
	// MaxPatternSize bounds the instructions of one regular expression after its repetitions are written out.
	MaxPatternSize = 5000
	// MaxPatternTotal bounds the sum of MaxPatternSize over one schema.
	MaxPatternTotal = 50000

	// MaxDepth is the deepest nesting of arrays and objects that [Decode] reads and [Schema.Validate] checks.
	MaxDepth = 128
	// MaxDecodeBytes bounds the text that [Decode] reads. Callers have lower bounds of their own.
	MaxDecodeBytes = 64 << 20
	// MaxDecodeValues bounds the values in one text. An empty array costs two bytes of text and forty of memory.
	MaxDecodeValues = 1 << 20
	// MaxNumberBytes bounds a number literal. A 256-bit integer has 78 digits.
	MaxNumberBytes = 128
	// MaxExponent bounds the decimal exponent of a number literal, both ways. A double has at most 324.
	MaxExponent = 400

	// MaxProblems is the number of problems that [Schema.Validate] lists.
	MaxProblems = 10
	// MaxErrorBytes bounds the text of a [*ValidationError].
	MaxErrorBytes = 2048
	// MaxSteps is the budget of one validation. A step is a subschema looked at, an item compared or a few bytes of text
	// matched; a million take about 50 ms.
	MaxSteps = 4 << 20
)

const (
	explainSteps   = MaxSteps // what finding the words for a refusal may cost on top
	maxEvalDepth   = 4096     // nested subschema evaluations, a backstop behind the checks at compile time
	maxMemo        = 1 << 16  // remembered results in one validation
	maxAltNesting  = 3        // alternatives inside alternatives that are explained
	maxPathText    = 200      // bytes of a JSON pointer in a text
	maxNameText    = 64       // bytes of one name or value in a text
	maxListedNames = 8        // names or values listed in a text
	maxRefusedText = 120      // bytes of a refused reference or pattern in a text
)
