package wirejson

// Strict is a generated object that reads itself. closed refuses members that it
// does not have.
type Strict interface {
	ReadStrict(r *Reader, closed bool) *Fault
}

// ReadString reads a string or a member of an enum; whether it is one of the
// members is checked afterwards, with the other rules of values.
func ReadString[T ~string](r *Reader) (T, *Fault) {
	s, f := r.String()
	return T(s), f
}

// ReadObject reads an object.
func ReadObject[T any, P interface {
	*T
	Strict
}](r *Reader, closed bool) (v T, f *Fault) {
	f = P(&v).ReadStrict(r, closed)
	return v, f
}

// ReadItems reads an array of at most most items. An empty one is not nil.
func ReadItems[T any](r *Reader, most int, read func(*Reader) (T, *Fault)) ([]T, *Fault) {
	if f := r.BeginArray(); f != nil {
		return nil, f
	}
	items := []T{}
	for {
		more, f := r.Item()
		if f != nil || !more {
			return items, f
		}
		if len(items) == most {
			return nil, Count(most+1, 0, most)
		}
		item, f := read(r)
		if f != nil {
			return nil, f.AtIndex(len(items))
		}
		items = append(items, item)
	}
}

// OrNull reads null as nil.
func OrNull[T any](r *Reader, read func(*Reader) (T, *Fault)) (*T, *Fault) {
	null, f := r.Null()
	if f != nil || null {
		return nil, f
	}
	v, f := read(r)
	if f != nil {
		return nil, f.orNull()
	}
	return &v, nil
}

// Ptr turns what was read into an optional value.
func Ptr[T any](v T, f *Fault) (*T, *Fault) {
	if f != nil {
		return nil, f
	}
	return &v, nil
}

// orNull lets the reason of a wrong type say that null would do too.
func (f *Fault) orNull() *Fault {
	if f.Rule == "type" && f.Place == "" {
		f.Reason += " or null"
	}
	return f
}
